package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/holdfast-dev/holdfast"
)

// Workspace is a workspace file as it was read.
type Workspace struct {
	// Path is absolute, through no link but the file itself.
	Path string
	data []byte
}

// WorkspacePath is the absolute path of the workspace file that path names, which
// need not exist; with an empty path, of the nearest one. Errors carry the codes
// not_found, or usage for a file of another name.
func (s Sources) WorkspacePath(path string) (string, error) {
	if path == "" {
		if path = s.findWorkspace(); path == "" {
			return "", holdfast.Errorf(holdfast.ErrNotFound, "there is no %s in %s or above. Name the file", workspaceName, s.Dir)
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	if filepath.Base(path) != workspaceName {
		return "", holdfast.Errorf(holdfast.ErrUsage,
			"%s is no workspace file and needs no trust: only a file that is named %s does", path, workspaceName)
	}
	return filepath.Join(resolve(filepath.Dir(path)), workspaceName), nil
}

// ReadWorkspace reads the file at a WorkspacePath. Errors carry the codes
// not_found or unavailable.
func ReadWorkspace(path string) (*Workspace, error) {
	data, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, holdfast.Errorf(holdfast.ErrNotFound, "there is no file %s", path)
	case err != nil:
		return nil, unreadable(err)
	}
	return &Workspace{Path: path, data: data}, nil
}

// Digest is the SHA-256 of the file, in hex.
func (w *Workspace) Digest() string {
	sum := sha256.Sum256(w.data)
	return hex.EncodeToString(sum[:])
}

// Guarded is what the file sets that needs trust, in TOML, with its own values; ""
// for nothing. Errors are those of Merge.
func (w *Workspace) Guarded() (string, error) {
	r := reader{layers: []Layer{FileLayer(w.Path, w.data)}, places: map[string]place{}}
	var f file
	if err := r.layer(0, &f); err != nil {
		return "", err
	}
	c := Default()
	if err := r.guarded(f, &c); err != nil {
		return "", err
	}
	var whole map[string]any
	if err := toml.Unmarshal(w.data, &whole); err != nil {
		return "", r.syntax(1, err)
	}
	shown := written("", "", whole).pick("", func(key string) bool { return needsTrust(knownKey(key)) })
	if shown == nil {
		return "", nil
	}
	return shown.toml(false), nil
}

// TrustState tells whether a workspace file is trusted.
type TrustState int

// The states.
const (
	Untrusted TrustState = iota
	Changed              // it was trusted with other content
	Trusted
)

// refusals are what stands behind a guarded key that is refused.
var refusals = map[TrustState]string{
	Untrusted: "is set by a workspace file that you have not trusted. Read the file, then run: holdfast config trust",
	Changed:   "is set by a workspace file that has changed since you trusted it. Read it again, then run: holdfast config trust",
	Trusted:   "",
}

const trustVersion = 1

// trustFile is trusted.json.
type trustFile struct {
	Version int `json:"version"`
	// Files are the digests of trusted files by path.
	Files map[string]string `json:"files"`
}

// Trust is the list of the workspace files that a person trusts. It is not for
// concurrent use; of two processes that change it at once, one may undo what the
// other did.
type Trust struct {
	path string
	file trustFile
}

// OpenTrust reads the list of a data directory; an empty one where there is
// none. Errors carry the codes unavailable, config for a damaged list, or
// newer_schema.
func OpenTrust(dataDir string) (*Trust, error) {
	t := &Trust{path: filepath.Join(dataDir, "trusted.json"), file: trustFile{Version: trustVersion}}
	data, err := os.ReadFile(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, holdfast.Errorf(holdfast.ErrUnavailable, "the list of trusted files cannot be read: %w", err)
	default:
		if err := json.Unmarshal(data, &t.file); err != nil {
			return nil, holdfast.Errorf(holdfast.ErrConfig, "%s is damaged: %w. Remove it, and trust your workspace files again", t.path, err)
		}
		if t.file.Version > trustVersion {
			return nil, holdfast.Errorf(holdfast.ErrNewer, "%s was written by a newer version of Holdfast. Use that one", t.path)
		}
	}
	if t.file.Files == nil {
		t.file.Files = map[string]string{}
	}
	return t, nil
}

// State tells whether w is trusted as it is.
func (t *Trust) State(w *Workspace) TrustState {
	digest, ok := t.file.Files[w.Path]
	switch {
	case !ok:
		return Untrusted
	case digest != w.Digest():
		return Changed
	}
	return Trusted
}

// Add trusts w as it is. Errors carry the code unavailable.
func (t *Trust) Add(w *Workspace) error {
	t.file.Files[w.Path] = w.Digest()
	return t.write()
}

// Remove ends the trust in the file at a WorkspacePath. Errors carry the codes
// not_found or unavailable.
func (t *Trust) Remove(path string) error {
	if _, ok := t.file.Files[path]; !ok {
		return holdfast.Errorf(holdfast.ErrNotFound, "%s was not trusted", path)
	}
	delete(t.file.Files, path)
	return t.write()
}

// write replaces the list as a whole: who reads it meanwhile sees the old one or
// the new one.
func (t *Trust) write() (err error) {
	defer func() {
		if err != nil {
			err = holdfast.Errorf(holdfast.ErrUnavailable, "the list of trusted files cannot be written: %w", err)
		}
	}()
	data, err := json.MarshalIndent(t.file, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(t.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "trusted-*.json") // readable by its owner alone
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), t.path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what it is for has failed already
	}
	return err
}
