package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/holdfast-dev/holdfast"
)

// maxFile bounds a configuration file in bytes.
const maxFile = 1 << 20

// workspaceName is the name of a workspace's file.
const workspaceName = ".holdfast.toml"

// Sources is where the layers come from. The zero value is only what is built
// in.
type Sources struct {
	// Environ tells where the user's file is, and has settings.
	Environ Environ
	// Dir is the absolute path of the working directory; "": no workspace.
	Dir string
	// DataDir has the list of trusted files; "": none is trusted.
	DataDir string
	// Conversation are the settings of the conversation at hand, as they stand in
	// it.
	Conversation []Layer
	// File is what --config names; "" for none. Where it is the user's or the
	// workspace's own file, it counts once, here, and needs no trust.
	File string
	// Set are the assignments of --set, KEY=VALUE each.
	Set []string
}

// Load merges all layers. Errors carry the code config, usage for a malformed
// Set, or unavailable when a file cannot be read.
func (s Sources) Load() (*Merged, error) {
	var layers []Layer
	if path, ok := s.userFile(); ok && !same(path, s.File) {
		data, err := read(path)
		switch {
		case err == nil:
			layers = append(layers, FileLayer(path, data))
		case !errors.Is(err, fs.ErrNotExist):
			return nil, unreadable(err)
		}
	}
	if path := s.findWorkspace(); path != "" && !same(path, s.File) {
		l, err := s.workspaceLayer(path)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	environment, err := environmentLayers(s.Environ)
	if err != nil {
		return nil, err
	}
	layers = append(layers, environment...)
	layers = append(layers, s.Conversation...)
	if s.File != "" {
		data, err := read(s.File)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, holdfast.Errorf(holdfast.ErrConfig,
				"there is no file %s. Write one, or leave --config out: everything has a default", s.File)
		case err != nil:
			return nil, unreadable(err)
		}
		layers = append(layers, FileLayer(s.File, data))
	}
	for _, assignment := range s.Set {
		l, err := setLayer(assignment)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return Merge(layers...)
}

func (s Sources) workspaceLayer(path string) (Layer, error) {
	w, err := ReadWorkspace(path)
	if err != nil {
		return Layer{}, err
	}
	l := FileLayer(path, w.data)
	if s.DataDir == "" {
		l.refusal = refusals[Untrusted]
		return l, nil
	}
	trust, err := OpenTrust(s.DataDir)
	if err != nil {
		return Layer{}, err
	}
	l.refusal = refusals[trust.State(w)]
	return l, nil
}

func unreadable(err error) error {
	return holdfast.Errorf(holdfast.ErrUnavailable, "the configuration cannot be read: %w", err)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// One byte more than Merge accepts, so that it sees what is too long.
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// same reports whether two paths are of one file that exists.
func same(path, other string) bool {
	a, err := os.Stat(path)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}

// userFile is holdfast/config.toml in $XDG_CONFIG_HOME or ~/.config. Without a
// home there is none.
func (s Sources) userFile() (string, bool) {
	dir, ok := s.Environ.xdg("XDG_CONFIG_HOME", ".config")
	return filepath.Join(dir, "config.toml"), ok
}

// findWorkspace finds the nearest workspace file, from the working directory
// upward: to the home directory where that is above, else to the root. "" where
// there is none.
func (s Sources) findWorkspace() string {
	if s.Dir == "" {
		return ""
	}
	dir, home := resolve(s.Dir), s.Environ.Home()
	if home != "" {
		home = resolve(home)
	}
	for {
		path := filepath.Join(dir, workspaceName)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		above := filepath.Dir(dir)
		if dir == home || above == dir {
			return ""
		}
		dir = above
	}
}

// resolve follows links as far as a directory exists.
func resolve(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// DataDir is where data is kept when no place is named: holdfast in
// $XDG_DATA_HOME or ~/.local/share. The directory may not exist yet.
func (e Environ) DataDir() (string, error) {
	dir, ok := e.xdg("XDG_DATA_HOME", filepath.Join(".local", "share"))
	if !ok {
		return "", holdfast.Errorf(holdfast.ErrUsage,
			"there is no home directory to look in. Set HOME or XDG_DATA_HOME, or give --data")
	}
	return dir, nil
}

// Home is the home directory; "" where none is known.
func (e Environ) Home() string {
	if runtime.GOOS == "windows" {
		return e.Get("USERPROFILE")
	}
	return e.Get("HOME")
}

// xdg follows the XDG base directory specification, by which a relative value
// counts as unset. It fails where there is no home either.
func (e Environ) xdg(variable, fallback string) (string, bool) {
	base := e.Get(variable)
	if !filepath.IsAbs(base) {
		home := e.Home()
		if home == "" {
			return "", false
		}
		base = filepath.Join(home, fallback)
	}
	return filepath.Join(base, "holdfast"), true
}
