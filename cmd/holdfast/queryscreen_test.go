package main

import (
	"bytes"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestANoticeStandsOnALineOfItsOwn(t *testing.T) {
	var errs bytes.Buffer
	show := func(text string) { errs.WriteString("\r" + text) }
	a := &app{err: &errs}
	s := a.newScreen(false, show)
	show("summarizing, call 1 of 1")
	s.Notice("compacted turn 1")
	if got, want := errs.String(), "\rsummarizing, call 1 of 1\rholdfast: compacted turn 1\n"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
	a.json = true
	errs.Reset()
	if s.Notice("compacted turn 2"); errs.Len() > 0 {
		t.Errorf("with --json %q", errs.String())
	}
}

func TestAnAnswerIsPrintedOnceWhenItIsThere(t *testing.T) {
	var out bytes.Buffer
	s := (&app{out: &out, err: &out}).newScreen(false, func(string) {})
	s.Said(holdfast.AssistantMessage{Text: "Yes."})
	if s.Answered(); out.String() != "Yes.\n" {
		t.Errorf("shown %q before a compaction", out.String())
	}
	if err := s.end(); err != nil || out.String() != "Yes.\n" {
		t.Errorf("shown %q at the end, %v", out.String(), err)
	}
}
