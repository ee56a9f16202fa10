//go:build !unix

package main

import "os/exec"

// group leaves a command as it is: there are no process groups here.
func group(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return endGroup(cmd) }
}

// endGroup kills a started command.
func endGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// endAllOf does nothing: there is no list of processes with their homes here.
func endAllOf(string) {}
