//go:build !unix

package toolbox

import "os/exec"

// Without process groups, only the command itself can be ended.
func ownGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
