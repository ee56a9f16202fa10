package main

import (
	"encoding/base64"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/query"
)

// maxAttachment bounds an attachment, and what is read from standard input, in
// bytes.
const maxAttachment = 20 << 20

// attachment reads a file that is sent along: a text as text with its name, an
// image or a document as such.
func attachment(name string) (holdfast.Part, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, holdfast.Errorf(holdfast.ErrNotFound, "the attachment cannot be read: %w", err)
	case info.IsDir():
		return nil, holdfast.Errorf(holdfast.ErrUsage, "the attachment %s is a directory. Attach files", line(name))
	case info.Size() > maxAttachment:
		return nil, holdfast.Errorf(holdfast.ErrTooLarge, "the attachment %s has %s, more than %s", line(name), sizeText(info.Size()), sizeText(maxAttachment))
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, holdfast.Errorf(holdfast.ErrUnavailable, "the attachment cannot be read: %w", err)
	}
	base := filepath.Base(name)
	kind := mime.TypeByExtension(filepath.Ext(name))
	if kind == "" {
		kind = http.DetectContentType(data)
	}
	kind, _, _ = strings.Cut(kind, ";")
	switch {
	case strings.HasPrefix(kind, "image/") && kind != "image/svg+xml":
		return holdfast.Media{Type: "image", MIME: kind, Name: base, Data: base64.StdEncoding.EncodeToString(data)}, nil
	case utf8.Valid(data):
		return query.Attached(base, string(data)), nil
	case kind == "application/pdf" || strings.HasPrefix(kind, "audio/"):
		return holdfast.Media{Type: "file", MIME: kind, Name: base, Data: base64.StdEncoding.EncodeToString(data)}, nil
	}
	return nil, holdfast.Errorf(holdfast.ErrUsage, "the attachment %s is of a type that models do not read (%s). Attach text, an image or a PDF", line(name), line(kind))
}
