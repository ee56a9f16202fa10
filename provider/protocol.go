package provider

import (
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/upstream"
	"github.com/holdfast-dev/holdfast/wire/anthropic"
	"github.com/holdfast-dev/holdfast/wire/chat"
	"github.com/holdfast-dev/holdfast/wire/gemini"
	"github.com/holdfast-dev/holdfast/wire/responses"
)

// protocol is what the wire formats differ in.
type protocol struct {
	// path is where a call to a model goes.
	path  func(model string) *url.URL
	write func(holdfast.Call) ([]byte, error)
	// body reads an answer that was not streamed.
	body   func([]byte) (holdfast.Answer, error)
	stream func() stream
	live   func() live
}

// stream reads a streamed answer whole.
type stream interface {
	Event(sse.Event)
	Answer() holdfast.Answer
}

// live follows an answer as it comes.
type live interface {
	Event(sse.Event, func(holdfast.Delta))
	Body([]byte)
	Usage() (holdfast.Usage, bool)
	Tokens() holdfast.Tokens
	Failure() (kind, message string, failed bool)
	Finish(holdfast.Answer) holdfast.FinishReason
}

// anthropicVersion is the version of the Messages API that is spoken:
// https://platform.claude.com/docs/en/api/versioning.
const anthropicVersion = "2023-06-01"

func protocolOf(u *upstream.Upstream) protocol {
	fixed := func(path string) func(string) *url.URL {
		return func(string) *url.URL { return &url.URL{Path: path} }
	}
	switch u.Protocol {
	case holdfast.Anthropic:
		return protocol{
			path:   fixed("/v1/messages"),
			write:  anthropic.Codec{}.WriteCall,
			body:   anthropic.Codec{}.ReadWhole,
			stream: func() stream { return anthropic.NewWhole() },
			live:   func() live { return new(anthropic.Live) },
		}
	case holdfast.Responses:
		return protocol{
			path:   fixed("/v1/responses"),
			write:  responses.Codec{}.WriteCall,
			body:   responses.Codec{}.ReadWhole,
			stream: func() stream { return responses.NewWhole() },
			live:   func() live { return new(responses.Live) },
		}
	case holdfast.Gemini:
		return protocol{
			path: func(model string) *url.URL {
				name := strings.TrimPrefix(model, "models/")
				return &url.URL{
					Path:     "/v1beta/models/" + name + ":streamGenerateContent",
					RawPath:  "/v1beta/models/" + url.PathEscape(name) + ":streamGenerateContent",
					RawQuery: "alt=sse",
				}
			},
			write:  gemini.Codec{}.WriteCall,
			body:   gemini.Codec{}.ReadWhole,
			stream: func() stream { return gemini.NewWhole() },
			live:   func() live { return new(gemini.Live) },
		}
	}
	p := protocol{
		path:   fixed("/v1/chat/completions"),
		write:  chat.Codec{}.WriteCall,
		body:   chat.Codec{}.ReadWhole,
		stream: func() stream { return chat.NewWhole() },
		live:   func() live { return new(chat.Live) },
	}
	switch host := u.Base.Hostname(); {
	case host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com"):
		p.write = chat.Codec{}.WriteOpenAI
	case host == "api.deepseek.com":
		p.write = chat.Codec{}.WriteDeepSeek
	case host == "api.groq.com" || host == "api.cerebras.ai" || strings.HasSuffix(host, ".mistral.ai"):
		p.write = chat.Codec{}.WriteStrict
	}
	return p
}
