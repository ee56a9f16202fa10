package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

// grown is a plot of 40 events in four turns: 100 tokens each, and what a
// compaction of the first two turns left out from the middle on.
func grown() plotJSON {
	p := plotJSON{Title: `<b>"Tom" & co</b>`, Model: "m", Window: 5000, Threshold: 2500}
	for i := range 40 {
		at := plotPoint{Event: int64(i + 1), Turn: i/10 + 1, Raw: 100 * (i + 1), Projected: 100 * (i + 1)}
		if i >= 20 {
			at.Projected -= 1500
		}
		p.Points = append(p.Points, at)
	}
	p.Reported = []plotReport{{Event: 10, Tokens: 1100}}
	p.Compactions = []plotCompaction{
		{Number: 1, Event: 20, From: 1, To: 20, Range: "turns 1–2", Policy: "tools", Source: holdfast.AutoOverlay},
		{Number: 2, Event: 40, From: 21, To: 30, Range: "turn 3", Policy: "tools", Source: holdfast.ManualOverlay, Revoked: true},
	}
	return p
}

func TestAPlotIsDrawnInColumns(t *testing.T) {
	a := &app{width: 52} // forty columns for forty events
	picture, rest, _ := strings.Cut(a.plotText(grown()), "          └")
	if title, _, _ := strings.Cut(picture, "\n"); title != `<b>"Tom" & co</b>` {
		t.Errorf("the title is %s", title)
	}
	// By columns: how many lines are full, in part, light.
	lines := strings.Split(strings.TrimSuffix(picture, "\n"), "\n")[1:]
	if len(lines) != plotHeight {
		t.Fatalf("%d lines:\n%s", len(lines), picture)
	}
	for c, at := range grown().Points {
		full, light := 0, 0
		for _, l := range lines {
			cells := []rune(strings.SplitN(l, "┤", 2)[1])
			if c >= len(cells) {
				continue
			}
			switch cells[c] {
			case '█':
				full++
			case '░':
				light++
			}
		}
		eighths := at.Projected * plotHeight * 8 / 5000
		if full != eighths/8 {
			t.Errorf("column %d has %d full lines, want %d", c+1, full, eighths/8)
		}
		if raw := (at.Raw*plotHeight*8/5000 + 7) / 8; at.Projected < at.Raw && light != raw-(eighths+7)/8 {
			t.Errorf("column %d has %d light lines of %d", c+1, light, raw-(eighths+7)/8)
		}
		if at.Projected == at.Raw && light != 0 {
			t.Errorf("column %d is light, and nothing is left out", c+1)
		}
	}
	if !strings.HasPrefix(lines[0], "     5.0k ┤───") || !strings.HasPrefix(lines[7], "          ┤┄┄┄") {
		t.Errorf("the window or the threshold is not drawn:\n%s", picture)
	}
	wantRest := `┬─────────┬─────────┬─────────┬─────────
      turn 1         2         3         4
1 auto     ━━━━━━━━━━━━━━━━━━━▲
2 revoked                      ┅┅┅┅┅┅┅┅┅┅         ▲
           ━ what a compaction covers   ▲ where it
           was made
█ what a model is sent   ░ what compactions leave
out   ─ window 5.0k   ┄ threshold 2.5k
at the end: ~2.5k of ~4.0k tokens, 4 turns
`
	if diff := cmp.Diff(wantRest, rest); diff != "" {
		t.Error(diff)
	}
}

func TestAPictureIsWellFormedAndItsTextsAreText(t *testing.T) {
	for _, p := range []plotJSON{grown(), {Title: "<script>"}, {}} {
		picture := plotSVG(p)
		d := xml.NewDecoder(strings.NewReader(picture))
		var texts, tags []string
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, picture)
			}
			switch token := token.(type) {
			case xml.StartElement:
				tags = append(tags, token.Name.Local)
			case xml.CharData:
				texts = append(texts, string(token))
			}
		}
		if !strings.Contains(strings.Join(texts, "\n"), untitled(p.Title)) {
			t.Errorf("the title is missing in\n%s", picture)
		}
		for _, tag := range tags {
			if tag == "b" || tag == "script" {
				t.Errorf("the title of %q became an element", p.Title)
			}
		}
	}
}

func TestAPictureStaysSmall(t *testing.T) {
	p := plotJSON{}
	for i := range 200_000 {
		p.Points = append(p.Points, plotPoint{Event: int64(i + 1), Turn: i/100 + 1, Raw: i, Projected: i})
		p.Reported = append(p.Reported, plotReport{Event: int64(i + 1), Tokens: int64(i)})
	}
	if n := len(plotSVG(p)); n > 200_000 {
		t.Errorf("%d bytes", n)
	}
}

func TestAWindowThatIsFarAwayDoesNotPressTheCurveDown(t *testing.T) {
	p := grown()
	p.Window, p.Threshold = 1_000_000, 0
	if got := p.top(); got != 4000 {
		t.Errorf("the top is %d, want the 4000 tokens of the curve", got)
	}
	if text := (&app{width: 120}).plotText(p); !strings.Contains(text, "window 1000.0k, above the picture") {
		t.Errorf("the window is not told:\n%s", text)
	}
}
