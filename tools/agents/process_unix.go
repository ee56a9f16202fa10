//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// group puts a command into a process group of its own, so that endGroup ends
// all that it started, and ends the group when the command's context is done.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return endGroup(cmd) }
}

// endGroup kills what is left of a started command's group.
func endGroup(cmd *exec.Cmd) error {
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

// endAllOf kills the process groups of every process with that home, until none
// is left: daemons leave the group of the agent that starts them. Homes are
// unique to one session, so nobody else's process has one. It needs /proc, and
// does nothing without it.
func endAllOf(home string) {
	const looks = 20 // a client that is about to end may start its daemon anew
	for range looks {
		left := groupsOf(home)
		if len(left) == 0 {
			return
		}
		for _, id := range left {
			_ = syscall.Kill(-id, syscall.SIGKILL) // fails when it has just ended
		}
		time.Sleep(50 * time.Millisecond) // the kernel tells of their end to nobody but their parents
	}
}

// groupsOf lists the process groups of the live processes with that home.
func groupsOf(home string) []int {
	entry := []byte("HOME=" + home)
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var groups []int
	for _, f := range files {
		env, err := os.ReadFile(f) // empty once the process has ended
		if err != nil || !hasEntry(env, entry) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			continue
		}
		if id, err := syscall.Getpgid(pid); err == nil && id != syscall.Getpgrp() {
			groups = append(groups, id)
		}
	}
	return groups
}

func hasEntry(env, entry []byte) bool {
	for e := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(e, entry) {
			return true
		}
	}
	return false
}
