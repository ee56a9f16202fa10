// Command mock is a scripted model for capturing what coding agents send. It
// answers Anthropic messages, OpenAI responses, chat completions and Gemini
// requests, and writes each request to a file as it stood on the wire: method,
// URL, header names in their own case and order, and body.
//
//	go run ./tools/capture/mock -addr 127.0.0.1:9301 -dir CAPTURES
//
// # Script
//
// POST /__script takes a JSON array of answers and appends them to a queue:
//
//	[{"tools":[{"name":"TaskList","input":{}}]},{"text":"done","usage":98000}]
//
// A request of the conversation (one that offers tools and asks for no
// compaction) takes the next answer. "usage" is the number of input tokens to
// report, "held" stops in the middle of the answer until the agent hangs up, and
// "overflow" is an error in its place. Without one it gets the text "reply N". A
// compaction takes the next answer when that says "compaction": true; else it
// gets a summary in tags, or an opaque item if it asks for one. A side call gets
// a short text, any other path an empty object.
//
// POST /__mark writes its body into the sequence of captures, so that a script
// can tell the steps apart.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9301", "loopback address to listen on")
	dir := flag.String("dir", "", "directory that receives one file per request")
	flag.Parse()
	if *dir == "" {
		fmt.Fprintln(os.Stderr, "mock: -dir is missing: name a directory for the captures")
		os.Exit(2)
	}
	if err := run(*addr, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "mock:", err)
		os.Exit(1)
	}
}

func run(addr, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make the capture directory: %w", err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen: %w; choose another -addr", err)
	}
	m := &model{dir: dir}
	fmt.Println("listening on", l.Addr())
	for {
		conn, err := l.Accept()
		if err != nil {
			return fmt.Errorf("cannot accept: %w", err)
		}
		go m.serve(conn)
	}
}
