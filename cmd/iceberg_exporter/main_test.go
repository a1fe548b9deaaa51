package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// binary is the program, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		directory, err := os.MkdirTemp("", "iceberg_exporter")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(directory)
		binary = filepath.Join(directory, name)
		args := []string{"build", "-o", binary}
		if raceDetector {
			args = append(args, "-race")
		}
		build := exec.Command("go", append(args, ".")...)
		if output, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v: %s\n", err, output)
			return 1
		}
		return m.Run()
	}())
}

// process is a running exporter.
type process struct {
	t       *testing.T
	command *exec.Cmd
	url     string
	log     *lockedBuffer
	config  string
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts the exporter with a configuration and waits until it answers.
func start(t *testing.T, configuration string, args ...string) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, url: "http://" + freeAddress(t), log: &lockedBuffer{}, config: file}
	p.command = exec.Command(binary, append([]string{
		"--config.file=" + file, "--web.listen-address=" + strings.TrimPrefix(p.url, "http://"), "--log.level=debug",
	}, args...)...)
	p.command.Stdout, p.command.Stderr = p.log, p.log
	p.command.Dir = repository(t)
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	for range 100 {
		if response, err := http.Get(p.url + "/-/ready"); err == nil {
			response.Body.Close()
			return p
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the exporter does not answer: %s", p.log)
	return nil
}

// stop ends the exporter, which must do so by itself and with status 0.
func (p *process) stop() {
	if p.command.ProcessState != nil {
		return
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(20*time.Second, func() { _ = p.command.Process.Kill() })
	defer timer.Stop()
	if err := p.command.Wait(); err != nil {
		p.t.Errorf("the exporter ended with %v: %s", err, p.log)
	}
	if strings.Contains(p.log.String(), "DATA RACE") {
		p.t.Errorf("a data race: %s", p.log)
	}
}

// get returns the status and the body of an answer.
func (p *process) get(path string) (int, string) {
	p.t.Helper()
	response, err := http.Get(p.url + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// scrape returns the metrics at a path.
func (p *process) scrape(path string) samples {
	p.t.Helper()
	status, body := p.get(path)
	if status != http.StatusOK {
		p.t.Fatalf("%s: status %d: %s", path, status, body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		p.t.Fatalf("%s: %v", path, err)
	}
	return flatten(families)
}

// samples are values by name and labels, as Prometheus writes them.
type samples map[string]float64

func flatten(families map[string]*dto.MetricFamily) samples {
	all := samples{}
	for name, family := range families {
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			series := func(name string, more ...string) string {
				return name + "{" + strings.Join(append(labels[:len(labels):len(labels)], more...), ",") + "}"
			}
			switch {
			case m.Gauge != nil:
				all[series(name)] = m.Gauge.GetValue()
			case m.Counter != nil:
				all[series(name)] = m.Counter.GetValue()
			case m.Histogram != nil:
				all[series(name+"_count")] = float64(m.Histogram.GetSampleCount())
				all[series(name+"_sum")] = m.Histogram.GetSampleSum()
				for _, bucket := range m.Histogram.Bucket {
					all[series(name+"_bucket", fmt.Sprintf("le=%q", fmt.Sprint(bucket.GetUpperBound())))] = float64(bucket.GetCumulativeCount())
				}
			}
		}
	}
	return all
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// repository is the root of the project.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 200 {
		if holds() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}
