package lint

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	dto "github.com/prometheus/client_model/go"
)

// metricRow is a line of the tables in docs/metrics.md: name, type, labels, meaning.
var metricRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| (.*?) \\| (.*) \\|$")

// enumerated are labels whose values the metric's description lists.
var enumerated = setOf("content", "operation", "ref_type", "result", "state")

// documented are the metrics that docs/metrics.md describes.
func documented(page string) map[string]vector {
	metrics := map[string]vector{}
	for _, row := range metricRow.FindAllStringSubmatch(page, -1) {
		name, kind, meaning := row[1], row[2], row[4]
		var labels []string
		if strings.HasPrefix(name, "iceberg_table_") {
			labels = append(labels, "catalog", "namespace", "table")
		}
		for label := range strings.SplitSeq(strings.NewReplacer("`", "", " ", "").Replace(row[3]), ",") {
			if label != "" {
				labels = append(labels, label)
			}
		}
		metric := scraped(labels...)
		metric.values = map[string]set{}
		for label := range enumerated.and(metric.labels) {
			metric.values[label] = setOf(strings.FieldsFunc(meaning, notInName)...)
		}
		add(metrics, name, kind == "histogram", metric)
	}
	return metrics
}

func notInName(r rune) bool {
	return r != '_' && (r < 'a' || r > 'z')
}

func add(metrics map[string]vector, name string, histogram bool, metric vector) {
	if !histogram {
		metrics[name] = metric
		return
	}
	metrics[name+"_count"], metrics[name+"_sum"] = metric, metric
	metric.labels, metric.key = metric.labels.or(setOf("le")), metric.key.or(setOf("le"))
	metrics[name+"_bucket"] = metric
}

// ofTheProcess are the metrics that the page leaves to their libraries: of Go's runtime, the process and the build.
func ofTheProcess() (map[string]vector, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		versioncollector.NewCollector("iceberg_exporter"),
	)
	families, err := registry.Gather()
	if err != nil {
		return nil, err
	}
	metrics := map[string]vector{}
	for _, family := range families {
		labels := set{}
		for _, one := range family.Metric {
			for _, pair := range one.Label {
				labels[pair.GetName()] = true
			}
		}
		metric := scraped()
		metric.labels, metric.key = metric.labels.or(labels), metric.key.or(labels)
		add(metrics, family.GetName(), family.GetType() == dto.MetricType_HISTOGRAM, metric)
	}
	return metrics, nil
}

// ofPrometheus are the metrics that Prometheus makes of each scrape.
func ofPrometheus() map[string]vector {
	metrics := map[string]vector{}
	for _, name := range []string{
		"up", "scrape_duration_seconds", "scrape_samples_scraped", "scrape_samples_post_metric_relabeling", "scrape_series_added",
	} {
		metrics[name] = scraped()
	}
	return metrics
}

// limit is a threshold in config.example.yml.
var limit = regexp.MustCompile(`(?m)^  (\w+):`)

// limits are the names of the thresholds, as the example of all settings lists them.
func limits(example string) (set, error) {
	_, after, found := strings.Cut(example, "\nthresholds:")
	block, _, ended := strings.Cut(after, "\n\n")
	if !found || !ended {
		return nil, fmt.Errorf("there is no block of thresholds")
	}
	names := set{}
	for _, line := range limit.FindAllStringSubmatch(block, -1) {
		names[line[1]] = true
	}
	return names, nil
}
