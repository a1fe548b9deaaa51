package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// missing skips a test whose part is not there.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("ICEBERG_EXPORTER_REQUIRE_PARTS") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// pythonWithPyIceberg is an interpreter that has PyIceberg.
func pythonWithPyIceberg(t *testing.T) string {
	t.Helper()
	python := os.Getenv("ICEBERG_EXPORTER_PYTHON")
	if python == "" {
		missing(t, "set ICEBERG_EXPORTER_PYTHON to a Python with pyiceberg[sql-sqlite,pyarrow]")
	}
	return python
}

// restFixture is the class path of Iceberg's REST catalog.
func restFixture(t *testing.T) string {
	t.Helper()
	directory := os.Getenv("ICEBERG_EXPORTER_REST_FIXTURE")
	if directory == "" {
		missing(t, "set ICEBERG_EXPORTER_REST_FIXTURE to the directory that this fills: "+
			"mvn -f integration/restfixture/pom.xml dependency:copy-dependencies -DoutputDirectory=DIRECTORY")
	}
	if _, err := exec.LookPath("java"); err != nil {
		missing(t, "install a Java runtime, 17 or later, for Iceberg's REST catalog")
	}
	return filepath.Join(directory, "*")
}

// postgresProgram finds a program of PostgreSQL's server, which Debian keeps off PATH.
func postgresProgram(t *testing.T, name string) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, "install Debian's postgresql package for %s", name)
	}
	return path
}

// nobody is a user without rights, for what refuses root or must not be root.
const nobody = 65534

// unprivileged makes a command run without root's rights.
func unprivileged(command *exec.Cmd) {
	if os.Geteuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// scratch is a directory that other users can look into.
func scratch(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for at := directory; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// serve runs a server until the end of the test, and waits until it listens.
func serve(t *testing.T, address string, command *exec.Cmd) {
	t.Helper()
	log := &lines{}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = command.Process.Kill()
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(command.Path), log)
		}
	})
	eventually(t, time.Minute, func() error {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// freeAddress is a local address that nobody listens on.
func freeAddress(t *testing.T) (address, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return listener.Addr().String(), port
}

// eventually waits until something is so.
func eventually(t *testing.T, patience time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("within %s not so: %v", patience, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
