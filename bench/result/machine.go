package result

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// ThisMachine describes the machine that the program runs on, as far as it tells. On Linux
// all of it is known; elsewhere memory and load are zero and the processor has no name.
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.GOMAXPROCS(0)}
	if release := firstLine("/proc/sys/kernel/osrelease"); release != "" {
		m.OS += " " + release
	}
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	m.CPU = field(cpuinfo, "model name")
	meminfo, _ := os.ReadFile("/proc/meminfo")
	kib, _, _ := strings.Cut(field(meminfo, "MemTotal"), " ")
	n, _ := strconv.ParseInt(kib, 10, 64)
	m.MemoryBytes = n << 10
	if limit, err := strconv.ParseInt(firstLine("/sys/fs/cgroup/memory.max"), 10, 64); err == nil && (limit < m.MemoryBytes || m.MemoryBytes == 0) {
		m.MemoryBytes = limit
	}
	load, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	m.LoadBefore, _ = strconv.ParseFloat(load, 64)
	return m
}

// firstLine is the first line of a small file, empty if it can't be read.
func firstLine(path string) string {
	body, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(body), "\n")
	return line
}

// field is the value of the first line "name: value".
func field(body []byte, name string) string {
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
