package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// npmPackage is an agent as npm serves it.
type npmPackage struct {
	name, version string
	// binary is a pattern below node_modules; the platform is part of it.
	binary string
}

func claudePackage(version string) npmPackage {
	return npmPackage{"@anthropic-ai/claude-code", version, "@anthropic-ai/claude-code-*/claude"}
}

func codexPackage(version string) npmPackage {
	return npmPackage{"@openai/codex", version, "@openai/codex-*/vendor/*/bin/codex"}
}

// nodePackage is Node.js for this platform, as npm serves it.
func nodePackage(version string) npmPackage {
	arch := map[string]string{"amd64": "x64", "386": "x86"}[runtime.GOARCH]
	return npmPackage{"node-" + runtime.GOOS + "-" + cmp.Or(arch, runtime.GOARCH), version, "node-*/bin/node"}
}

// cacheDir is where installed agents are kept between runs.
func cacheDir() (string, error) {
	if dir := os.Getenv("HOLDFAST_AGENTS_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the cache for agents: %w. Set HOLDFAST_AGENTS_CACHE", err)
	}
	return filepath.Join(home, ".cache", "holdfast", "agents"), nil
}

// install returns the agent's binary, and fetches it when it is not there.
// Scripts of packages are not run.
func install(ctx context.Context, cache string, p npmPackage, stderr io.Writer) (string, error) {
	short := p.name[strings.LastIndexByte(p.name, '/')+1:]
	dir := filepath.Join(cache, short+"-"+p.version)
	if path, err := p.find(dir); err == nil {
		return path, nil
	}
	fmt.Fprintf(stderr, "installing %s@%s into %s\n", p.name, p.version, dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error",
		p.name+"@"+p.version)
	cmd.Stdout, cmd.Stderr = stderr, stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("npm install %s@%s: %w. Check that npm is installed and the registry can be reached", p.name, p.version, err)
	}
	return p.find(dir)
}

// find looks for the binary of an installed package.
func (p npmPackage) find(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", filepath.FromSlash(p.binary)))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("%s@%s has no file %s in %s: the package has another form, or none for this platform", p.name, p.version, p.binary, dir)
	}
	return found[0], nil
}
