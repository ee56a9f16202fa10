// Transcripts reads files of agents and prints what is in them, in numbers: to try
// the readers on sessions that are not part of the tests.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/transcript"
)

func main() {
	failed := false
	for _, path := range os.Args[1:] {
		if err := report(path); err != nil {
			fmt.Printf("%s: %v\n", filepath.Base(path), err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// report prints one file. The error is of a file that cannot be read, or of events
// that their line form does not give back.
func report(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	format, ok := transcript.Sniff(data[:min(len(data), 64<<10)], path)
	if !ok {
		return fmt.Errorf("it is of no agent that is known")
	}
	kinds, damaged, sessions, compactions := map[string]int{}, map[string]int{}, map[string]bool{}, []string{}
	streams := map[string][]holdfast.Entry{}
	ids := map[holdfast.EventID]bool{}
	o := transcript.Options{Synthetic: agents.Synthetic, SyntheticParts: agents.SyntheticParts, Words: agents.UserText}
	items := transcript.Read(format, bytes.NewReader(data), path, o)
	if bytes.HasPrefix(data, []byte("SQLite")) {
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
		if err != nil {
			return err
		}
		defer db.Close()
		items = transcript.OpenCodeDB(context.Background(), db, o)
	}
	for item, err := range items {
		if err != nil {
			return err
		}
		switch it := item.(type) {
		case transcript.Session:
			sessions[it.ID] = true
		case transcript.Damage:
			damaged[it.Reason]++
		case transcript.Event:
			e := it.Entry
			kind := conversation.KindOf(e.Event)
			if m, ok := e.Event.(holdfast.UserMessage); ok && m.Synthetic {
				kind = "synthetic"
			}
			kinds[kind]++
			line := conversation.AppendLine(nil, e)
			back, err := conversation.ParseLine(line)
			if err != nil || !bytes.Equal(conversation.AppendLine(nil, back), line) {
				return fmt.Errorf("a %s does not come back from its line: %v", kind, err)
			}
			if ids[e.ID] {
				return fmt.Errorf("the id of a %s is given twice", kind)
			}
			ids[e.ID] = true
			if o, ok := e.Event.(holdfast.Overlay); ok {
				compactions = append(compactions, fmt.Sprintf("%d..%d (%d bytes)", o.FromTurn, o.ToTurn, len(o.Summary.Text)))
			}
			streams[it.Session] = append(streams[it.Session], e)
		}
	}
	turns := 0
	for _, s := range streams {
		turns += len(conversation.Turns(s))
	}
	fmt.Printf("%-22s %-12s sessions %d, events %d, turns %d, damaged %d", filepath.Base(path), format, len(sessions), len(ids), turns, total(damaged))
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Printf(", %s %d", k, kinds[k])
	}
	fmt.Printf("; compactions [%s]\n", strings.Join(compactions, ", "))
	return nil
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
