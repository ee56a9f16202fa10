// Package media reads what the wire formats have in common of images and files.
package media

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Image and File are the types of stored media: what is no image is a file.
const (
	Image = "image"
	File  = "file"
)

// TypeOf is the type for a media type such as audio/wav.
func TypeOf(mime string) string {
	if strings.HasPrefix(mime, "image/") {
		return Image
	}
	return File
}

// At adds where m is: what a data URL (RFC 2397) holds becomes its content,
// another address stays one. The type that a data URL names counts.
func At(m holdfast.Media, address string) holdfast.Media {
	rest, ok := strings.CutPrefix(address, "data:")
	head, data, comma := strings.Cut(rest, ",")
	if !ok || !comma {
		m.URI = address
		return m
	}
	mime, encoded := strings.CutSuffix(head, ";base64")
	if mime, _, _ = strings.Cut(mime, ";"); mime != "" {
		m.MIME = mime
	}
	if encoded {
		m.Data = data
		return m
	}
	if text, err := url.PathUnescape(data); err == nil {
		data = text
	}
	return Text(m, data)
}

// Text makes a plain text the content of m.
func Text(m holdfast.Media, text string) holdfast.Media {
	if m.MIME == "" {
		m.MIME = "text/plain"
	}
	m.Data = base64.StdEncoding.EncodeToString([]byte(text))
	return m
}
