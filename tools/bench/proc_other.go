//go:build !linux

package main

import (
	"errors"
	"time"
)

var errOnlyLinux = errors.New("the CPU time of another process is read from the Linux kernel: run the bench on Linux")

func cpuSupported() error { return errOnlyLinux }

func cpuTime(int) (time.Duration, error) { return 0, errOnlyLinux }

func memoryOf(int) (now, peak int64, err error) { return 0, 0, errOnlyLinux }
