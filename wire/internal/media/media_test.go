package media_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/media"
)

func TestAt(t *testing.T) {
	for _, tt := range []struct {
		name, address string
		want          holdfast.Media
	}{
		{"an address", "https://a.example/b.png", holdfast.Media{Type: "image", URI: "https://a.example/b.png"}},
		{"base64 in a data URL", "data:image/png;base64,AA==", holdfast.Media{Type: "image", MIME: "image/png", Data: "AA=="}},
		{"with parameters", "data:text/plain;charset=utf-8;base64,QQ==", holdfast.Media{Type: "image", MIME: "text/plain", Data: "QQ=="}},
		{"text in a data URL", "data:,a%20b", holdfast.Media{Type: "image", MIME: "text/plain", Data: "YSBi"}},
		{"a data URL that holds nothing", "data:image/png", holdfast.Media{Type: "image", URI: "data:image/png"}},
		{"no address", "", holdfast.Media{Type: "image"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := media.At(holdfast.Media{Type: media.Image}, tt.address); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestTypeOf(t *testing.T) {
	for mime, want := range map[string]string{"image/png": "image", "audio/wav": "file", "": "file"} {
		if got := media.TypeOf(mime); got != want {
			t.Errorf("%q is of the type %q, want %q", mime, got, want)
		}
	}
}
