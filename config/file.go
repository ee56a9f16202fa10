package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast"
)

// maxFile bounds a configuration file in bytes.
const maxFile = 1 << 20

// Load reads the file at path. With an empty path it reads the file at
// DefaultFile when there is one, and is Default otherwise. Errors carry the
// codes config, or unavailable when the file cannot be read.
func Load(path string) (Config, error) {
	given := path != ""
	if !given {
		var err error
		if path, err = DefaultFile(); err != nil {
			return Config{}, err
		}
	}
	data, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !given:
		return Default(), nil
	case errors.Is(err, fs.ErrNotExist):
		return Config{}, holdfast.Errorf(holdfast.ErrConfig,
			"there is no file %s. Write one, or leave --config out: everything has a default", path)
	case err != nil:
		return Config{}, holdfast.Errorf(holdfast.ErrUnavailable, "the configuration cannot be read: %w", err)
	}
	return Parse(path, data)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// One byte more than Parse accepts, so that it sees what is too long.
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// DefaultFile is where a configuration stands when none is named:
// holdfast/config.toml in $XDG_CONFIG_HOME or ~/.config.
func DefaultFile() (string, error) {
	return xdg("XDG_CONFIG_HOME", ".config", "config.toml", "--config")
}

// DefaultDataDir is where data is kept when no place is named: holdfast in
// $XDG_DATA_HOME or ~/.local/share. The directory may not exist yet.
func DefaultDataDir() (string, error) {
	return xdg("XDG_DATA_HOME", filepath.Join(".local", "share"), "", "--data")
}

// xdg follows the XDG base directory specification, by which a relative value
// counts as unset.
func xdg(variable, fallback, name, flag string) (string, error) {
	base := os.Getenv(variable)
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", holdfast.Errorf(holdfast.ErrUsage,
				"there is no home directory to look in. Set HOME or %s, or give %s", variable, flag)
		}
		base = filepath.Join(home, fallback)
	}
	return filepath.Join(base, "holdfast", name), nil
}
