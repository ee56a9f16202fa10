package engine_test

import (
	"strings"
	"testing"
)

func TestASkillIsNoWordOfTheUser(t *testing.T) {
	w := newWorld(t)
	h := w.turn(claude, []entry{user("Build the importer.")}, long("Done a"))
	h = w.turn(claude, append(h, user("Base directory for this skill: /home/u/.claude/skills/db\n\n# DB\nAlways use MySQL, never sqlite.")), long("Done b"))
	b := w.boundary(claude, append(h, user(claudeMarker))...)
	if strings.Contains(b, "MySQL") || !strings.Contains(b, "Build the importer.") {
		t.Error(b)
	}
}

func TestWordsBehindACommandAreTheUsers(t *testing.T) {
	w := newWorld(t)
	h := w.turn(claude, []entry{user("<command-message>db</command-message>\n<command-name>/db</command-name>\n<command-args>use postgres, never sqlite</command-args>")}, long("Done a"))
	b := w.boundary(claude, append(h, user(claudeMarker))...)
	if !strings.Contains(b, "- use postgres, never sqlite\n") {
		t.Error(b)
	}
}

func TestAPlanThatOpensAContextIsInForce(t *testing.T) {
	w := newWorld(t)
	h := w.turn(claude, []entry{user("Implement the following plan:\n\n# Importer\n1. Read the file\n2. Write the rows")}, long("Done a"))
	b := w.boundary(claude, append(h, user(claudeMarker))...)
	if !strings.Contains(b, "### The plan as the user approved it\n> # Importer\n> 1. Read the file\n> 2. Write the rows\n") || strings.Contains(b, "Words of the user") {
		t.Error(b)
	}
}
