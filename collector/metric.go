package collector

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric describes a metric family that the exporter publishes.
type Metric struct {
	Name string
	Help string
	// Type is gauge, counter or histogram.
	Type string
	// Labels are those besides the table's own.
	Labels []string
	// Group is the heading under which the documentation has it.
	Group string
	// Scope tells which labels come before Labels.
	Scope Scope

	desc *prometheus.Desc
}

// Scope is what a metric is about.
type Scope int

// Scopes.
const (
	// PerTable metrics carry catalog, namespace and table.
	PerTable Scope = iota
	// PerCatalog metrics carry catalog.
	PerCatalog
	// PerExporter metrics carry none of these.
	PerExporter
)

// BaseLabels are the labels that all metrics of a scope carry.
func (s Scope) BaseLabels() []string {
	switch s {
	case PerTable:
		return []string{"catalog", "namespace", "table"}
	case PerCatalog:
		return []string{"catalog"}
	default:
		return nil
	}
}

// AllLabels are the metric's labels in their order.
func (m *Metric) AllLabels() []string { return append(m.Scope.BaseLabels(), m.Labels...) }

// descriptions collects the metrics of the groups.
type descriptions struct {
	scope   Scope
	group   string
	metrics []*Metric
}

func (d *descriptions) add(kind, name, help string, labels ...string) *Metric {
	m := &Metric{Name: name, Help: help, Type: kind, Labels: labels, Group: d.group, Scope: d.scope}
	m.desc = prometheus.NewDesc(name, help, m.AllLabels(), nil)
	d.metrics = append(d.metrics, m)
	return m
}

func (d *descriptions) gauge(name, help string, labels ...string) *Metric {
	return d.add("gauge", name, help, labels...)
}

func (d *descriptions) counter(name, help string, labels ...string) *Metric {
	return d.add("counter", name, help, labels...)
}

func (d *descriptions) histogram(name, help string, labels ...string) *Metric {
	return d.add("histogram", name, help, labels...)
}

// describe sends the descriptions to a registry.
func (d *descriptions) describe(ch chan<- *prometheus.Desc) {
	for _, m := range d.metrics {
		ch <- m.desc
	}
}

// emitter sends the values of metrics that share their first labels.
type emitter struct {
	ch   chan<- prometheus.Metric
	base []string
}

func (e emitter) labels(labels []string) []string {
	all := make([]string, 0, len(e.base)+len(labels))
	all = append(all, e.base...)
	for _, l := range labels {
		all = append(all, valid(l))
	}
	return all
}

func (e emitter) send(m *Metric, value float64, labels ...string) {
	kind := prometheus.GaugeValue
	if m.Type == "counter" {
		kind = prometheus.CounterValue
	}
	e.ch <- prometheus.MustNewConstMetric(m.desc, kind, value, e.labels(labels)...)
}

// count sends a whole number.
func (e emitter) count(m *Metric, n int64, labels ...string) { e.send(m, float64(n), labels...) }

// known sends a whole number that may not be known.
func (e emitter) known(m *Metric, n *int64) {
	if n != nil {
		e.count(m, *n)
	}
}

// flag sends 1 or 0.
func (e emitter) flag(m *Metric, on bool) {
	if on {
		e.send(m, 1)
	} else {
		e.send(m, 0)
	}
}

// maxLabel bounds a label value in bytes: properties of a table can be of any length.
const maxLabel = 1024

// valid makes a label value UTF-8, as Prometheus wants it, and not too long.
func valid(label string) string {
	if len(label) > maxLabel {
		label = label[:maxLabel]
	}
	return strings.ToValidUTF8(label, "\uFFFD")
}
