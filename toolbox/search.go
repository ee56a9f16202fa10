package toolbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Bounds of a search.
const (
	maxMatches   = 200
	maxMatchLine = 300     // bytes of a line that are shown
	maxSearched  = 4 << 20 // bytes of a file; larger ones are seldom written by a person
	maxPattern   = 1000    // bytes of an expression
)

func (f *files) search(ctx context.Context, arguments []byte) ([]holdfast.Part, bool, error) {
	var in struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
		Glob    string `json:"glob"`
	}
	if err := decode(arguments, &in); err != nil {
		return nil, false, err
	}
	if in.Pattern == "" || len(in.Pattern) > maxPattern {
		return nil, false, fmt.Errorf("a pattern has 1 to %d bytes", maxPattern)
	}
	expr, err := regexp.Compile(in.Pattern)
	if err != nil {
		return nil, false, fmt.Errorf("the pattern is no RE2 expression: %w", err)
	}
	if _, err := path.Match(in.Glob, ""); err != nil || strings.Contains(in.Glob, "/") {
		return nil, false, errors.New("glob is a pattern of file names, such as *.go. Directories belong into path")
	}
	start, _, err := f.place(in.Path)
	if err != nil {
		return nil, false, err
	}
	within, cancel := context.WithTimeout(ctx, f.searchTime)
	defer cancel()
	s := &search{files: f, ctx: within, expr: expr, glob: in.Glob, room: f.most - marker}
	err = fs.WalkDir(f.root.FS(), start, s.visit)
	switch {
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case within.Err() != nil:
		s.out.WriteString("[stopped: the search took too long. Search below a path, or with a glob]\n")
	case errors.Is(err, errFull):
		s.out.WriteString("[stopped: there are more matches. Search below a path, with a glob or a narrower pattern]\n")
	case err != nil:
		return nil, false, unreadable(in.Path, err)
	case s.matches == 0:
		s.out.WriteString("[no matches]\n")
	}
	if s.skipped > 0 {
		fmt.Fprintf(&s.out, "[%d files above %d bytes were not searched]\n", s.skipped, maxSearched)
	}
	return text(s.out.String()), false, nil
}

// search is one search under way.
type search struct {
	files            *files
	ctx              context.Context
	expr             *regexp.Regexp
	glob             string
	room             int // bytes left of the result
	out              strings.Builder
	matches, skipped int
}

// errFull ends a search whose result is full.
var errFull = errors.New("the result is full")

// visit looks at one entry of the walk. Links are not followed, and what cannot
// be read is passed over, as it is by every search tool.
func (s *search) visit(name string, d fs.DirEntry, err error) error {
	if ended := s.ctx.Err(); ended != nil {
		return ended
	}
	switch {
	case err != nil && d != nil && d.IsDir():
		return fs.SkipDir
	case err != nil:
		return err // of the start
	case isGit(d.Name()) && d.IsDir():
		return fs.SkipDir
	case !d.Type().IsRegular() || isGit(d.Name()):
		return nil
	}
	if ok, err := path.Match(s.glob, d.Name()); err != nil || !ok && s.glob != "" {
		return err
	}
	file, info, err := s.files.open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	if info.Size() > maxSearched {
		s.skipped++
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSearched))
	if err != nil || binary(data[:min(len(data), sniffed)]) {
		return nil
	}
	return s.scan(name, data)
}

func (s *search) scan(name string, data []byte) error {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimRight(line, "\r\n")
		at := s.expr.FindIndex(line)
		if at == nil {
			continue
		}
		shown := fmt.Sprintf("%s:%d: %s\n", name, number, valid(around(line, at[0])))
		if s.matches == maxMatches || len(shown) > s.room {
			return errFull
		}
		s.matches++
		s.room -= len(shown)
		s.out.WriteString(shown)
		if err := s.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// around is a line, or of a long one what stands around a match.
func around(line []byte, at int) []byte {
	if len(line) <= maxMatchLine {
		return line
	}
	from := min(max(0, at-maxMatchLine/3), len(line)-maxMatchLine)
	return line[from : from+maxMatchLine]
}
