package toolbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Bounds of the file tools.
const (
	maxEntries = 1000
	maxImage   = 3 << 20 // in bytes; as base64 it stays below what every provider takes
	sniffed    = 8000    // bytes at the beginning that tell what a file is
)

// files are the tools that read below a directory.
type files struct {
	root *os.Root
	dir  string // of root, without links
	most int    // bytes of a result
	// searchTime bounds a search, which then tells what it found.
	searchTime time.Duration
}

func openFiles(dir string, most int) (*files, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(abs)
	}
	if err != nil {
		return nil, holdfast.Errorf(holdfast.ErrUnavailable, "the directory of the file tools cannot be opened: %w. Name one that exists and can be read", err)
	}
	return &files{root: root, dir: abs, most: most, searchTime: 10 * time.Second}, nil
}

func (f *files) tools() []tool {
	const paths = "Paths are relative to the workspace and use slashes."
	schema := func(required, properties string) []byte {
		return []byte(`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`)
	}
	return []tool{
		{
			ToolDefinition: holdfast.ToolDefinition{
				Name:        "fs_list",
				Description: "Lists a directory: a name per line, directories end in /. " + paths + ` "." is the workspace itself.`,
				Schema:      schema(`"path"`, `"path":{"type":"string"}`),
			},
			run: f.list,
		},
		{
			ToolDefinition: holdfast.ToolDefinition{
				Name: "fs_read_file",
				Description: "Reads a text file or an image. Lines are counted from 1; without them the file is read from its beginning. " +
					"What does not fit is named at the end, with the line to go on from. " + paths,
				Schema: schema(`"path"`, `"path":{"type":"string"},"from_line":{"type":"integer","minimum":1},"to_line":{"type":"integer","minimum":1}`),
			},
			run: f.read,
		},
		{
			ToolDefinition: holdfast.ToolDefinition{
				Name: "fs_search",
				Description: "Finds the lines that match a regular expression (RE2) in the text files below a path, as PATH:LINE: TEXT. " +
					"glob is a pattern of file names, such as *.go. " + paths,
				Schema: schema(`"pattern"`, `"pattern":{"type":"string"},"path":{"type":"string"},"glob":{"type":"string"}`),
			},
			run: f.search,
		},
	}
}

// place finds what a model named: its path below the root, and what is there.
func (f *files) place(name string) (string, fs.FileInfo, error) {
	clean := path.Clean(name) // "" is the root itself
	if !fs.ValidPath(clean) {
		return "", nil, fmt.Errorf("%q is outside of the workspace", name)
	}
	info, err := f.root.Stat(clean)
	if err != nil {
		return "", nil, unreadable(name, err)
	}
	// A link may lead into .git as well.
	resolved, err := filepath.EvalSymlinks(filepath.Join(f.dir, clean))
	if err == nil {
		resolved, err = filepath.Rel(f.dir, resolved)
	}
	if err != nil {
		return "", nil, unreadable(name, err)
	}
	if slices.ContainsFunc(strings.Split(filepath.ToSlash(clean+"/"+resolved), "/"), isGit) {
		return "", nil, fmt.Errorf("%q is of git and not shown", name)
	}
	return clean, info, nil
}

// isGit knows the name on file systems that ignore case, too.
func isGit(name string) bool { return strings.EqualFold(name, ".git") }

// unreadable words an error without the paths that the system adds to it.
func unreadable(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q does not exist", name)
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%q cannot be read: %w", name, err)
}

// open opens a regular file. What else stands there, such as a pipe without a
// writer, must not hold up the open either.
func (f *files) open(clean string) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(clean, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func (f *files) list(_ context.Context, arguments []byte) ([]holdfast.Part, bool, error) {
	var in struct {
		Path string `json:"path"`
	}
	if err := decode(arguments, &in); err != nil {
		return nil, false, err
	}
	clean, info, err := f.place(in.Path)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		return nil, false, fmt.Errorf("%q is no directory. Read it with fs_read_file", in.Path)
	}
	dir, err := f.root.Open(clean)
	if err != nil {
		return nil, false, unreadable(in.Path, err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxEntries + 1)
	if err != nil && err != io.EOF {
		return nil, false, unreadable(in.Path, err)
	}
	more := len(entries) > maxEntries
	entries = slices.DeleteFunc(entries[:min(len(entries), maxEntries)], func(e fs.DirEntry) bool { return isGit(e.Name()) })
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var out strings.Builder
	for _, e := range entries {
		out.WriteString(entryLine(e))
	}
	switch {
	case more:
		fmt.Fprintf(&out, "[there are more than %d entries; the others are not shown]\n", maxEntries)
	case len(entries) == 0:
		out.WriteString("[the directory is empty]\n")
	}
	return text(out.String()), false, nil
}

func entryLine(e fs.DirEntry) string {
	name := e.Name()
	// A line break in a name would pass for another entry.
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		name = fmt.Sprintf("%q", name)
	}
	switch {
	case e.IsDir():
		return name + "/\n"
	case e.Type()&fs.ModeSymlink != 0:
		return name + " (link)\n"
	}
	if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
		return fmt.Sprintf("%s (%d bytes)\n", name, info.Size())
	}
	return name + "\n"
}

func (f *files) read(ctx context.Context, arguments []byte) ([]holdfast.Part, bool, error) {
	var in struct {
		Path string `json:"path"`
		From int64  `json:"from_line"`
		To   int64  `json:"to_line"`
	}
	if err := decode(arguments, &in); err != nil {
		return nil, false, err
	}
	if in.From < 0 || in.To < 0 || in.To > 0 && in.To < in.From {
		return nil, false, fmt.Errorf("there are no lines from %d to %d: they are counted from 1, and to_line is not before from_line", in.From, in.To)
	}
	clean, _, err := f.place(in.Path)
	if err != nil {
		return nil, false, err
	}
	file, info, err := f.open(clean)
	if err != nil {
		return nil, false, unreadable(in.Path, err)
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 64<<10)
	head, err := r.Peek(sniffed)
	if err != nil && err != io.EOF {
		return nil, false, unreadable(in.Path, err)
	}
	switch {
	case imageType(head) != "" && info.Size() <= maxImage:
		data, err := io.ReadAll(io.LimitReader(r, maxImage+1))
		if err != nil {
			return nil, false, unreadable(in.Path, err)
		}
		return []holdfast.Part{picture(data, path.Base(clean))}, false, nil
	case binary(head):
		return text(fmt.Sprintf("[a binary file (%s, %d bytes): not shown]", http.DetectContentType(head), info.Size())), false, nil
	case len(head) == 0:
		return text("[the file is empty]"), false, nil
	}
	out, err := lines(ctx, r, max(1, in.From), in.To, f.most-marker)
	if err != nil {
		return nil, false, err
	}
	return text(out), false, nil
}

// lines reads the lines from to to (0: the last) of r, as far as they fit in room
// bytes, and says where to go on.
func lines(ctx context.Context, r *bufio.Reader, from, to int64, room int) (string, error) {
	var out []byte
	begin := 0 // of the line under way, in out
	for line := int64(1); ; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		piece, err := r.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return "", fmt.Errorf("reading stopped at line %d: %w", line, err)
		}
		if line >= from {
			out = append(out, piece...)
		}
		switch {
		case len(out) <= room:
		case begin == 0:
			return fmt.Sprintf("%s\n[line %d is longer than can be shown. Go on with from_line %d, or search in it]", valid(out[:room]), line, line+1), nil
		default:
			return fmt.Sprintf("%s[the file goes on. Go on with from_line %d]", valid(out[:begin]), line), nil
		}
		if err == io.EOF {
			if len(piece) == 0 {
				line-- // the file ends with a line break
			}
			if line < from {
				return "", fmt.Errorf("the file has %d lines, so there is no line %d", line, from)
			}
			return valid(out), nil
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		begin = len(out)
		if line++; to > 0 && line > to {
			break
		}
	}
	if _, err := r.Peek(1); err == nil {
		return fmt.Sprintf("%s[the file goes on. Go on with from_line %d]", valid(out), to+1), nil
	}
	return valid(out), nil
}

// valid makes text of what need not be UTF-8, such as a character that was cut.
func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

func text(s string) []holdfast.Part { return []holdfast.Part{holdfast.Text(s)} }

// binary reports whether the beginning of a file shows that it is no text.
func binary(head []byte) bool { return imageType(head) != "" || bytes.IndexByte(head, 0) >= 0 }

// imageType is the media type of an image that every provider takes, by its
// content; "" for anything else.
func imageType(data []byte) string {
	switch t := http.DetectContentType(data); t {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return t
	}
	return ""
}

// picture is an image for the model. What is too large or no image of these
// types would make the provider refuse the whole conversation: it is told.
func picture(data []byte, name string) holdfast.Part {
	mime := imageType(data)
	if mime == "" || len(data) > maxImage {
		return holdfast.Text(fmt.Sprintf("[an image (%d bytes) that is too large, or no PNG, JPEG, GIF or WebP: not shown]", len(data)))
	}
	return holdfast.Media{Type: "image", MIME: mime, Name: name, Data: base64.StdEncoding.EncodeToString(data)}
}
