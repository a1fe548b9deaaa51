package integration

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// lines keeps what a process writes.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// exporter is a running exporter.
type exporter struct {
	t      *testing.T
	url    string
	config string
	log    *lines
	// secrets must appear in nothing that the exporter says.
	secrets []string
}

// secret is a text that must appear in nothing that the exporter says.
type secret string

// start runs the exporter with a configuration until the end of the test. It
// logs at debug level, so that whatever could tell a secret does.
func start(t *testing.T, configuration string, secrets ...secret) *exporter {
	t.Helper()
	return startAs(t, configuration, func(*exec.Cmd) {}, secrets...)
}

func startAs(t *testing.T, configuration string, user func(*exec.Cmd), secrets ...secret) *exporter {
	t.Helper()
	x := &exporter{t: t, config: filepath.Join(scratch(t), "iceberg_exporter.yml"), log: &lines{}}
	for _, s := range secrets {
		x.secrets = append(x.secrets, string(s))
	}
	x.configure(configuration)
	command := exec.Command(binary, "--config.file="+x.config, "--web.listen-address=127.0.0.1:0", "--log.level=debug")
	command.Stderr = x.log
	user(command)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() { x.stop(command, ended) })
	listening := regexp.MustCompile(`msg="Listening on" address=(\S+)`)
	eventually(t, time.Minute, func() error {
		found := listening.FindStringSubmatch(x.log.String())
		if found == nil {
			return fmt.Errorf("the exporter does not listen; it says:\n%s", x.log)
		}
		x.url = "http://" + found[1]
		return nil
	})
	return x
}

// stop ends the exporter, which must not take long or fail, and looks through
// its log.
func (x *exporter) stop(command *exec.Cmd, ended <-chan error) {
	_ = command.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		if err != nil {
			x.t.Errorf("the exporter ended with %v", err)
		}
	case <-time.After(8 * time.Second): // Less than it waits for what does not end.
		_ = command.Process.Signal(syscall.SIGQUIT) // Tells where it hangs.
		x.t.Errorf("the exporter did not end: %v", <-ended)
	}
	x.guard("the log", x.log.String())
	if x.t.Failed() {
		x.t.Logf("the exporter said:\n%s", x.log)
	}
}

// guard fails the test where a text has a secret.
func (x *exporter) guard(what, text string) {
	for _, s := range x.secrets {
		if i := strings.Index(text, s); i >= 0 {
			x.t.Errorf("%s tells the secret %q: ...%s...", what, s, text[max(i-100, 0):min(i+100, len(text))])
		}
	}
}

// configure writes the configuration file.
func (x *exporter) configure(configuration string) {
	x.t.Helper()
	if err := os.WriteFile(x.config, []byte(configuration), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

// ask sends a request to the exporter.
func (x *exporter) ask(method, path string, header http.Header) (int, string, error) {
	request, err := http.NewRequest(method, x.url+path, nil)
	if err != nil {
		return 0, "", err
	}
	maps.Copy(request.Header, header)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	x.guard(path, string(body))
	return response.StatusCode, string(body), err
}

// get fails the test unless the answer has this status.
func (x *exporter) get(path string, want int) string {
	x.t.Helper()
	status, body, err := x.ask(http.MethodGet, path, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	if status != want {
		x.t.Fatalf("%s: %d, want %d: %s", path, status, want, body)
	}
	return body
}

// scrape returns the metrics, as Prometheus with a long time-out gets them.
func (x *exporter) scrape() metrics {
	x.t.Helper()
	scraped, err := x.scrapeWithin(30 * time.Second)
	if err != nil {
		x.t.Fatal(err)
	}
	return scraped
}

func (x *exporter) scrapeWithin(timeout time.Duration) (metrics, error) {
	header := http.Header{"X-Prometheus-Scrape-Timeout-Seconds": {fmt.Sprint(timeout.Seconds())}}
	status, body, err := x.ask(http.MethodGet, "/metrics", header)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("/metrics: %d: %s", status, body)
	}
	return parse(body)
}

// metrics are scraped values by their series, as name{label="value",...}.
type metrics map[string]float64

func parse(text string) (metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	m := metrics{}
	for name, family := range families {
		for _, one := range family.Metric {
			labels := map[string]string{}
			for _, pair := range one.Label {
				labels[pair.GetName()] = pair.GetValue()
			}
			m.add(name, labels, one)
		}
	}
	return m, nil
}

func (m metrics) add(name string, labels map[string]string, one *dto.Metric) {
	switch {
	case one.Gauge != nil:
		m[series(name, labels)] = one.Gauge.GetValue()
	case one.Counter != nil:
		m[series(name, labels)] = one.Counter.GetValue()
	case one.Histogram != nil:
		m[series(name+"_count", labels)] = float64(one.Histogram.GetSampleCount())
		m[series(name+"_sum", labels)] = one.Histogram.GetSampleSum()
		for _, bucket := range one.Histogram.Bucket {
			with := maps.Clone(labels)
			with["le"] = fmt.Sprintf("%.0f", bucket.GetUpperBound())
			m[series(name+"_bucket", with)] = float64(bucket.GetCumulativeCount())
		}
	}
}

func series(name string, labels map[string]string) string {
	var inside []string
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		inside = append(inside, fmt.Sprintf("%s=%q", label, labels[label]))
	}
	if len(inside) == 0 {
		return name
	}
	return name + "{" + strings.Join(inside, ",") + "}"
}

// table returns one table's series without the labels that name the table.
func (m metrics) table(catalog, namespace, name string) metrics {
	of := metrics{}
	base := regexp.MustCompile(`(catalog|namespace|table)="([^"]*)",?`)
	for s, value := range m {
		name0, labels, has := strings.Cut(s, "{")
		named := map[string]string{}
		for _, match := range base.FindAllStringSubmatch(labels, -1) {
			named[match[1]] = match[2]
		}
		if !has || named["catalog"] != catalog || named["namespace"] != namespace || named["table"] != name {
			continue
		}
		rest := strings.TrimSuffix(strings.TrimSuffix(base.ReplaceAllString(labels, ""), "}"), ",")
		if rest != "" {
			rest = "{" + rest + "}"
		}
		of[name0+rest] = value
	}
	return of
}

// up is a table's iceberg_table_up, or -1 without the series.
func (m metrics) up(catalog, namespace, name string) float64 {
	if value, ok := m.table(catalog, namespace, name)["iceberg_table_up"]; ok {
		return value
	}
	return -1
}

// catalogUp is a catalog's iceberg_catalog_up, or -1 without the series.
func (m metrics) catalogUp(name string) float64 {
	if value, ok := m[series("iceberg_catalog_up", map[string]string{"catalog": name})]; ok {
		return value
	}
	return -1
}

// equals compares a table's series with the figures that the engine gave: their
// values, and that their metrics have no other series.
func (m metrics) equals(t *testing.T, catalog, namespace, name string, want metrics) {
	t.Helper()
	t.Helper()
	have := m.table(catalog, namespace, name)
	if have["iceberg_table_up"] != 1 {
		t.Errorf("%s.%s.%s is not up", catalog, namespace, name)
		return
	}
	families := map[string]bool{}
	for s, value := range want {
		family, _, _ := strings.Cut(s, "{")
		families[family] = true
		got, ok := have[s]
		if !ok && value == 0 && strings.HasPrefix(s, "iceberg_table_snapshot_operations{") {
			continue // Only operations that happened have a series.
		}
		if !ok || got != value {
			t.Errorf("%s.%s.%s: %s is %v, want %v", catalog, namespace, name, s, got, value)
		}
	}
	for s, value := range have {
		family, labels, _ := strings.Cut(s, "{")
		if _, wanted := want[s]; !wanted && families[family] && value != 0 && labels != `le="+Inf"}` {
			t.Errorf("%s.%s.%s: %s is %v, which the engine does not know", catalog, namespace, name, s, value)
		}
	}
}
