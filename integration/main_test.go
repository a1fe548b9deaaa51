// Package integration runs the built exporter against real catalogs, storage and
// writers, and compares what it publishes with what those say themselves.
//
// The parts that are no Go modules are found through the environment, see
// parts_test.go. A test whose part is missing is skipped, or fails where
// ICEBERG_EXPORTER_REQUIRE_PARTS is 1.
package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the exporter under test.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer stopPyIceberg()
	// ICEBERG_EXPORTER_BINARY tests one that is built already, say with -race.
	if binary = os.Getenv("ICEBERG_EXPORTER_BINARY"); binary != "" {
		return m.Run()
	}
	directory, err := os.MkdirTemp("", "integration")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(directory)
	// The exporter also runs as another user, who must reach it.
	if err := os.Chmod(directory, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(directory, "iceberg_exporter")
	build := exec.Command("go", "build", "-o", binary, "./cmd/iceberg_exporter")
	build.Dir = ".."
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the exporter: %v\n%s", err, text)
		return 1
	}
	return m.Run()
}
