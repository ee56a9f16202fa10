package eval

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Agent is a scripted coding agent: it keeps a history as the real one does and
// sends all of it with every request. Not for concurrent use; two forks may be
// used at once.
type Agent interface {
	// Prompt sends a text of the user and goes on until the model calls no more
	// tools, or the person sends a question or a plan away without a word.
	Prompt(ctx context.Context, text string) error
	// Compact asks for a summary and goes on with what came back. It fails
	// before the first Prompt.
	Compact(ctx context.Context) error
	// CompactIn makes the next Prompt compact in the middle of its turn, behind
	// its n-th round of tool results (from 1), as the agent does by itself when
	// the window is full. A turn with fewer rounds does not compact. An agent
	// that never compacts in mid-turn (pi) does it when the turn has ended. The
	// Prompt fails when there is nothing before a turn that the agent keeps.
	CompactIn(round int)
	// Fork returns a session that goes on from the same history, with the new ids
	// that the agent's own fork gives, made from the seed. Agents without an id
	// show nothing of it. They share nothing from then on.
	Fork(seed string) Agent
	// Subagent returns an agent that this one has started: a history of its own
	// in the same session, marked as the real one marks it. It is nil where the
	// wire shows nothing of it.
	Subagent(id string) Agent
	// Enter puts the agent into a world. Forks and subagents start in the same one.
	Enter(w World)
}

var errNothing = errors.New("there is no conversation to compact yet")

// maxRounds bounds the tool calls of one turn, so that a script without an end
// fails instead of running on.
const maxRounds = 64

// answer is what an agent reads from a stream.
type answer struct {
	text   string
	calls  []Call
	opaque json.RawMessage // the compaction item, as it came
}

// post sends a request as an agent does and hands each event's data to f.
func post(ctx context.Context, c *http.Client, url string, header object, body object, f func(data []byte) error) error {
	answer, err := open(ctx, c, url, header, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	lines := bufio.NewScanner(answer)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			if err := f(data); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the answer to a scripted agent: %w", err)
	}
	return nil
}

// fetch sends a request whose answer is not streamed.
func fetch(ctx context.Context, c *http.Client, url string, header object, body object) ([]byte, error) {
	answer, err := open(ctx, c, url, header, body)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	raw, err := io.ReadAll(answer)
	if err != nil {
		return nil, fmt.Errorf("read the answer to a scripted agent: %w", err)
	}
	return raw, nil
}

// open sends a request; the answer is one of success.
func open(ctx context.Context, c *http.Client, url string, header object, body object) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encode(body)))
	if err != nil {
		return nil, fmt.Errorf("make a request of a scripted agent: %w", err)
	}
	for _, m := range header {
		req.Header.Set(m.name, m.value.(string))
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("send a request of a scripted agent: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return nil, fmt.Errorf("a scripted agent was answered with status %d: %s", resp.StatusCode, text)
	}
	return resp.Body, nil
}

// derive makes an id in the form of a UUID from words.
func derive(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
}

// filler is prose that stands for the long texts of agents and the output of
// tools: a session that is worth compacting is long.
func filler(topic string, paragraphs int) string {
	var b strings.Builder
	for i := range paragraphs {
		fmt.Fprintf(&b, "%s, part %d: the reader goes line by line, keeps what it needs and leaves the rest as it is. "+
			"A file that cannot be read is named, and the work goes on with the next one.\n", topic, i+1)
	}
	return b.String()
}
