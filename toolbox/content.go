package toolbox

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast"
)

// parts turns a result of a server into what a model is given. Structured content
// counts where nothing else stands: servers repeat it as text.
func parts(r *mcp.CallToolResult) (out []holdfast.Part) {
	for _, c := range r.Content {
		if p := part(c); p != nil {
			out = append(out, p)
		}
	}
	if len(out) == 0 && r.StructuredContent != nil {
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			out = append(out, holdfast.Text(data))
		}
	}
	return out
}

// part turns one piece of content into a part; nil for an empty text, which some
// providers refuse.
func part(c mcp.Content) holdfast.Part {
	switch c := c.(type) {
	case *mcp.TextContent:
		if c.Text != "" {
			return holdfast.Text(c.Text)
		}
		return nil
	case *mcp.ImageContent:
		return picture(c.Data, "")
	case *mcp.AudioContent:
		return told("audio", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		line := "[a link to " + c.Name + ": " + c.URI
		if c.MIMEType != "" {
			line += " (" + c.MIMEType + ")"
		}
		if c.Description != "" {
			line += ", " + c.Description
		}
		return holdfast.Text(line + "]")
	case *mcp.EmbeddedResource:
		return resource(c.Resource)
	}
	return holdfast.Text("[content of a kind that is not known: not shown]")
}

func resource(r *mcp.ResourceContents) holdfast.Part {
	switch {
	case r == nil:
		return nil
	case r.Blob == nil:
		return holdfast.Text("[" + r.URI + "]\n" + r.Text)
	case imageType(r.Blob) != "":
		return picture(r.Blob, "")
	}
	return told(r.URI, r.MIMEType, len(r.Blob))
}

// told says what there is and is not shown.
func told(what, mime string, size int) holdfast.Part {
	if mime != "" {
		mime += ", "
	}
	return holdfast.Text(fmt.Sprintf("[%s (%s%d bytes): not shown]", what, mime, size))
}
