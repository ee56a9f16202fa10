//go:build unix

package main

import (
	"os/exec"
	"syscall"
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
