package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An upstream that tells a wrong length leaves the rest of an answer on a connection
// that nobody reads.
func TestWhatComesBehindAnAnswerIsNotLogged(t *testing.T) {
	const behind = "the rest of what was said"
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	closed := make(chan struct{})
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer close(closed)
		defer c.Close()
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}%s", behind)
		_, _ = io.Copy(io.Discard, c) // until the transport has seen it and gives the connection up
	}()

	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	text := "[[upstream]]\nname = \"here\"\nprotocol = \"chat\"\nbase_url = \"http://" + ln.Addr().String() + "/v1\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	server := exec.Command(os.Args[0], "serve", "--listen", "127.0.0.1:0", "--json", "--config", config, "--data", filepath.Join(dir, "data"))
	server.Env = append(os.Environ(), asProgram+"=1")
	server.Stderr = &said
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var line struct {
		Listening string `json:"listening"`
	}
	if err := json.NewDecoder(out).Decode(&line); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(line.Listening + "/u/here/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	<-closed
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(said.String(), behind) {
		t.Errorf("on standard error is:\n%s", said.String())
	}
}
