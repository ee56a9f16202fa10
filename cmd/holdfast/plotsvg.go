package main

import (
	"fmt"
	"html"
	"strings"
)

// The picture, in units of its own. It takes the width that it is given.
const (
	svgWidth  = 960
	svgHeight = 360 // of the curve
	svgLeft   = 70
	svgRight  = 20
	svgTop    = 56
	svgBand   = 18 // of a compaction
)

// svgStyle follows the reader's light or dark colours. What is told by colour is
// told by a line's form or by words too.
const svgStyle = `<style>
text{font:13px system-ui,sans-serif;fill:#222}.small{font-size:11px}.head{font-size:16px;font-weight:600}
.back{fill:#fff}.grid{stroke:#ddd}.sent{fill:#2b6cb0}.raw{fill:none;stroke:#999;stroke-width:1.5;stroke-dasharray:2 2}
.window{stroke:#c53030;stroke-width:1.5}.threshold{stroke:#b7791f;stroke-width:1.5;stroke-dasharray:6 4}
.band{fill:#2f855a}.revoked{fill:none;stroke:#2f855a;stroke-dasharray:3 2}.made{stroke:#2f855a;stroke-dasharray:1 3}.report{fill:#c05621}
@media (prefers-color-scheme:dark){text{fill:#ddd}.back{fill:#1a1a1a}.grid{stroke:#444}.sent{fill:#63b3ed}.raw{stroke:#aaa}
.window{stroke:#fc8181}.threshold{stroke:#f6e05e}.band{fill:#68d391}.revoked{stroke:#68d391}.made{stroke:#68d391}.report{fill:#f6ad55}}
</style>
`

// mostSVGPoints bounds the size of a picture: more are not seen.
const mostSVGPoints = 1500

// plotSVG is the picture as a document of its own.
func plotSVG(p plotJSON) string {
	shown := p.Compactions
	if n := len(shown) - mostBands; n > 0 {
		shown = shown[n:]
	}
	height := svgTop + svgHeight + 50 + svgBand*len(shown) + 30
	title := html.EscapeString(untitled(p.Title))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title about">`+"\n", svgWidth, height)
	fmt.Fprintf(&b, "<title id=\"title\">Context of the conversation %s</title>\n", title)
	end := plotPoint{}
	if n := len(p.Points); n > 0 {
		end = p.Points[n-1]
	}
	fmt.Fprintf(&b, "<desc id=\"about\">Tokens of a request behind each event. At the end %d of %d tokens are sent, in %d turns, with %d compactions.</desc>\n",
		end.Projected, end.Raw, end.Turn, len(p.Compactions))
	b.WriteString(svgStyle)
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d"/><text class="head" x="%d" y="22">%s</text>`+"\n", svgWidth, height, svgLeft, title)
	if len(p.Points) == 0 {
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">The conversation is empty.</text>\n</svg>\n", svgLeft, svgTop+20)
		return b.String()
	}
	top := p.top()
	x := func(point int) float64 {
		return svgLeft + float64(point)*(svgWidth-svgLeft-svgRight)/float64(max(len(p.Points)-1, 1))
	}
	y := func(tokens int64) float64 { return svgTop + svgHeight - float64(tokens)*svgHeight/float64(top) }
	for i := range 5 {
		tokens := top * int64(i) / 4
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="small" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			svgLeft, svgWidth-svgRight, y(tokens), y(tokens), svgLeft-6, y(tokens)+4, tokensText(int(tokens)))
	}
	curve := func(value func(plotPoint) int) string {
		var line strings.Builder
		every := 1 + len(p.Points)/mostSVGPoints
		for i, at := range p.Points {
			if i%every == 0 || i == len(p.Points)-1 {
				fmt.Fprintf(&line, "%.1f,%.1f ", x(i), y(int64(value(at))))
			}
		}
		return strings.TrimSpace(line.String())
	}
	fmt.Fprintf(&b, "<polygon class=\"sent\" points=\"%.1f,%.1f %s %.1f,%.1f\"/>\n", x(0), y(0), curve(func(at plotPoint) int { return at.Projected }), x(len(p.Points)-1), y(0))
	fmt.Fprintf(&b, "<polyline class=\"raw\" points=\"%s\"/>\n", curve(func(at plotPoint) int { return at.Raw }))
	every := 1 + len(p.Reported)/(mostSVGPoints/5)
	for i, r := range p.Reported {
		if i%every == 0 {
			fmt.Fprintf(&b, "<circle class=\"report\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n", x(p.at(r.Event)), y(r.Tokens))
		}
	}
	legend := "area: what a model is sent · dotted: without compactions · dots: what the provider counted"
	level := func(class, what string, tokens int64) {
		if tokens <= 0 || tokens > top {
			return
		}
		fmt.Fprintf(&b, `<line class="%s" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="small" x="%d" y="%.1f">%s %s</text>`+"\n",
			class, svgLeft, svgWidth-svgRight, y(tokens), y(tokens), svgLeft+4, y(tokens)+13, what, tokensText(int(tokens)))
	}
	level("window", "window", p.Window)
	level("threshold", "threshold", p.Threshold)
	if p.Window > top {
		legend += fmt.Sprintf(" · window %s, above the picture", tokensText(int(p.Window)))
	}
	fmt.Fprintf(&b, "<text class=\"small\" x=\"%d\" y=\"42\">%s</text>\n", svgLeft, legend)
	svgTurns(&b, p, x)
	for i, c := range shown {
		at := float64(svgTop + svgHeight + 50 + i*svgBand)
		from, to, made := x(p.at(c.From)), x(p.at(c.To)), x(p.at(c.Event))
		class := "band"
		what := fmt.Sprintf("%d %s", c.Number, c.Source)
		if c.Revoked {
			class, what = "revoked", fmt.Sprintf("%d revoked", c.Number)
		}
		fmt.Fprintf(&b, `<line class="made" x1="%.1f" x2="%.1f" y1="%d" y2="%.1f"/>`, made, made, svgTop, at)
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="8"><title>%s: %s</title></rect><text class="small" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			class, from, at, max(to-from, 2), html.EscapeString(c.Range), html.EscapeString(c.Policy), svgLeft-6, at+8, html.EscapeString(what))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// svgTurns writes the axis.
func svgTurns(b *strings.Builder, p plotJSON, x func(point int) float64) {
	const floor, apart = svgTop + svgHeight, 40
	free := 0.0
	for i, at := range p.Points {
		if i > 0 && at.Turn == p.Points[i-1].Turn || x(i) < free {
			continue
		}
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="small" x="%.1f" y="%d">%d</text>`+"\n", x(i), x(i), floor, floor+5, x(i), floor+18, at.Turn)
		free = x(i) + apart
	}
	fmt.Fprintf(b, "<text class=\"small\" x=\"%d\" y=\"%d\" text-anchor=\"end\">turn</text>\n", svgLeft-6, floor+18)
}
