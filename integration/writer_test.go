package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// pyIceberg is the process of writer.py, one for the whole run.
var pyIceberg struct {
	sync.Mutex
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func stopPyIceberg() {
	if pyIceberg.command != nil {
		_ = pyIceberg.in.Close()
		_ = pyIceberg.command.Wait()
	}
}

// arguments are those of a command of writer.py.
type arguments map[string]any

// try has writer.py carry out a command, and decodes its result.
func try(t *testing.T, do string, with arguments, result any) error {
	pyIceberg.Lock()
	defer pyIceberg.Unlock()
	if pyIceberg.command == nil {
		startPyIceberg(t)
	}
	with["do"] = do
	line, err := json.Marshal(with)
	if err != nil {
		return err
	}
	if _, err := pyIceberg.in.Write(append(line, '\n')); err != nil {
		return err
	}
	answer, err := pyIceberg.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("writer.py: %w", err)
	}
	var told struct {
		Result json.RawMessage
		Error  string
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		return err
	}
	if told.Error != "" {
		return fmt.Errorf("%s %v: %s", do, with, told.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(told.Result, result)
}

func startPyIceberg(t *testing.T) {
	t.Helper()
	command := exec.Command(pythonWithPyIceberg(t), "writer.py")
	command.Stderr = os.Stderr
	// The test's S3 server does not know checksums that trail an upload.
	command.Env = append(os.Environ(), "AWS_REQUEST_CHECKSUM_CALCULATION=when_required")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	pyIceberg.command, pyIceberg.in, pyIceberg.out = command, in, bufio.NewReader(out)
}

// pyCatalog is a catalog as PyIceberg opens it: its properties, and its name.
type pyCatalog map[string]string

// do has PyIceberg do something with a table of the catalog.
func (c pyCatalog) do(t *testing.T, do, table string, with arguments) {
	t.Helper()
	c.ask(t, do, table, with, nil)
}

func (c pyCatalog) ask(t *testing.T, do, table string, with arguments, result any) {
	t.Helper()
	pythonWithPyIceberg(t)
	if with == nil {
		with = arguments{}
	}
	with["catalog"], with["table"] = c, table
	if err := try(t, do, with, result); err != nil {
		t.Fatal(err)
	}
}

// write creates a table and appends to it this many times.
func (c pyCatalog) write(t *testing.T, table string, appends int, options arguments) {
	t.Helper()
	c.do(t, "create", table, options)
	if appends > 0 {
		c.do(t, "append", table, arguments{"times": appends})
	}
}

// figures are those that PyIceberg's metadata tables give.
func (c pyCatalog) figures(t *testing.T, table string) metrics {
	t.Helper()
	var figures metrics
	c.ask(t, "figures", table, nil, &figures)
	return figures
}

// metadata tells where a table's metadata file and the table are.
func (c pyCatalog) metadata(t *testing.T, table string) (file, location string) {
	t.Helper()
	var told struct{ File, Location string }
	c.ask(t, "metadata", table, nil, &told)
	return told.File, told.Location
}

// document is a table's metadata.
func (c pyCatalog) document(t *testing.T, table string) json.RawMessage {
	t.Helper()
	var metadata json.RawMessage
	c.ask(t, "document", table, nil, &metadata)
	return metadata
}

// snapshot is a snapshot as its summary tells.
type snapshot struct {
	ID           int64   `json:"id"`
	Timestamp    float64 `json:"timestamp"`
	DataFiles    float64 `json:"data_files"`
	Records      float64 `json:"records"`
	ManifestList string  `json:"manifest_list"`
}
