// Package web has the exporter's HTTP endpoints.
package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/iceberg-exporter/iceberg_exporter/collector"
	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// Options are what the endpoints work with.
type Options struct {
	Fleet *refresh.Fleet
	// Exporter gathers the metrics of the exporter itself.
	Exporter prometheus.Gatherer
	// Config returns the configuration in use.
	Config func() *config.Config
	// Reload loads the configuration file again.
	Reload func() error
	// TelemetryPath is where the metrics are.
	TelemetryPath string
	// TimeoutOffset is kept of Prometheus' timeout to send the answer in.
	TimeoutOffset time.Duration
	Version       string
	Logger        log.Logger
}

// telemetryPath matches the paths that the metrics may have.
var telemetryPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$|^/$`)

// ownPaths are those of the other endpoints.
func ownPaths() []string {
	return []string{"/probe", "/targets", "/config", "/-/healthy", "/-/ready", "/-/reload"}
}

type handler struct {
	Options
	tables *prometheus.Registry
}

// NewHandler returns the exporter's endpoints.
func NewHandler(o Options) (http.Handler, error) {
	if !telemetryPath.MatchString(o.TelemetryPath) || slices.Contains(ownPaths(), o.TelemetryPath) {
		return nil, fmt.Errorf("the path of the metrics cannot be %q: want one like /metrics that no other endpoint has", o.TelemetryPath)
	}
	h := &handler{Options: o, tables: prometheus.NewRegistry()}
	if err := h.tables.Register(collector.NewTables(o.Fleet.Snapshot)); err != nil {
		return nil, err
	}
	landing, err := h.landingPage()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	metrics := o.TelemetryPath
	if metrics == "/" {
		metrics = "/{$}"
	}
	mux.HandleFunc("GET "+metrics, h.metrics)
	mux.HandleFunc("GET /probe", h.probe)
	mux.HandleFunc("GET /targets", h.targets)
	mux.HandleFunc("GET /config", h.config)
	mux.HandleFunc("GET /-/healthy", ok)
	mux.HandleFunc("GET /-/ready", ok)
	mux.HandleFunc("POST /-/reload", h.reload)
	if o.TelemetryPath != "/" {
		mux.Handle("GET /{$}", landing)
	}
	return mux, nil
}

func (h *handler) landingPage() (http.Handler, error) {
	return toolkit.NewLandingPage(toolkit.LandingConfig{
		Name:        "Iceberg Exporter",
		Description: "Layout of Apache Iceberg tables for Prometheus",
		Version:     h.Version,
		Links: []toolkit.LandingLinks{
			{Address: h.TelemetryPath, Text: "Metrics", Description: "every configured table, and the exporter itself"},
			{Address: h.TelemetryPath + "?collect[]=exporter", Text: "Exporter metrics", Description: "the exporter alone"},
			{Address: "/targets", Text: "Targets", Description: "the tables, for Prometheus' HTTP service discovery"},
			{Address: "/config", Text: "Configuration", Description: "the configuration in use, without secrets"},
		},
		Form: toolkit.LandingForm{
			Action: "/probe",
			Inputs: []toolkit.LandingFormInput{{Label: "Table", Type: "text", Name: "target", Placeholder: "catalog.namespace.table"}},
		},
		Profiling: "false",
	})
}

func ok(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "OK") }

// The collections that collect[] can ask for.
const (
	collectTables   = "tables"
	collectExporter = "exporter"
)

func (h *handler) metrics(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()["collect[]"]
	for _, name := range asked {
		if name != collectTables && name != collectExporter {
			http.Error(w, fmt.Sprintf("collect[]=%q: want %s or %s", name, collectTables, collectExporter), http.StatusBadRequest)
			return
		}
	}
	wants := func(name string) bool { return len(asked) == 0 || slices.Contains(asked, name) }
	var gatherers prometheus.Gatherers
	if wants(collectTables) {
		ctx, cancel := h.deadline(r)
		defer cancel()
		h.Fleet.Refresh(ctx)
		gatherers = append(gatherers, h.tables)
	}
	if wants(collectExporter) {
		gatherers = append(gatherers, h.Exporter)
	}
	h.serve(w, r, gatherers)
}

func (h *handler) probe(w http.ResponseWriter, r *http.Request) {
	targets := r.URL.Query()["target"]
	if len(targets) != 1 || targets[0] == "" {
		http.Error(w, "want one parameter target=catalog.namespace.table", http.StatusBadRequest)
		return
	}
	ctx, cancel := h.deadline(r)
	defer cancel()
	table, covered := h.Fleet.RefreshTable(ctx, targets[0])
	if !covered {
		http.Error(w, fmt.Sprintf("the configuration covers no table %q", targets[0]), http.StatusBadRequest)
		return
	}
	registry := prometheus.NewRegistry()
	now := h.Fleet.Now()
	registry.MustRegister(collector.NewTables(func() refresh.Snapshot {
		return refresh.Snapshot{Time: now, Tables: []refresh.Table{table}}
	}))
	h.serve(w, r, registry)
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request, gatherer prometheus.Gatherer) {
	promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{
		ErrorLog:      errorLog{h.Logger},
		ErrorHandling: promhttp.ContinueOnError,
	}).ServeHTTP(w, r)
}

// errorLog is the logger of promhttp.
type errorLog struct{ logger log.Logger }

// Println implements promhttp.Logger.
func (l errorLog) Println(v ...any) {
	level.Error(l.logger).Log("msg", "gathering metrics", "err", fmt.Sprint(v...))
}

// target is a target group of Prometheus' HTTP service discovery.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

func (h *handler) targets(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := h.deadline(r)
	defer cancel()
	h.Fleet.Discover(ctx)
	groups := []target{}
	for _, t := range h.Fleet.Snapshot().Tables {
		groups = append(groups, target{
			Targets: []string{t.Key.String()},
			Labels: map[string]string{
				"__meta_iceberg_catalog":   t.Key.Catalog,
				"__meta_iceberg_namespace": t.Key.Namespace,
				"__meta_iceberg_table":     t.Key.Name,
			},
		})
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(groups); err != nil {
		level.Debug(h.Logger).Log("msg", "sending the targets", "err", err)
	}
}

func (h *handler) config(w http.ResponseWriter, _ *http.Request) {
	text, err := h.Config().Show()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	_, _ = w.Write(text)
}

func (h *handler) reload(w http.ResponseWriter, _ *http.Request) {
	if err := h.Reload(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, "the configuration is reloaded")
}

// deadline bounds a request by when its answer must be sent.
func (h *handler) deadline(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), scrapeTime(r.Header.Get(timeoutHeader), h.TimeoutOffset))
}
