package main

import (
	"maps"
	"slices"
	"strings"
)

// Three labels identify a table. Every query first takes one value for each: two exporters may
// watch the same table.
const id = "catalog, namespace, table"

const (
	// Selectors of the tables that the reader picked.
	someTables = `catalog=~"$catalog",namespace=~"$namespace",table=~"$table"`
	oneTable   = `catalog="$catalog",namespace="$namespace",table="$table"`
	// Selector of the exporters that the reader picked.
	someExporters = `job=~"$job",instance=~"$instance"`
)

// perTable takes one value a table.
func perTable(metric, selector string) string {
	return "max by (" + id + ") (" + metric + "{" + selector + "})"
}

// once takes one value for each value of label of the table shown, and sums them by label.
func once(label, metric string) string {
	return "sum by (" + label + ") (max by (" + id + ", " + label + ") (" + metric + "{" + oneTable + "}))"
}

// largest keeps the ten tables that have most at the end of the time shown, over all of that time.
// A plain topk would change its mind at every step.
func largest(metric, selector string) string {
	return perTable(metric, selector) + " and on (" + id + ") topk(10, " + atEnd(metric, selector) + ")"
}

func atEnd(metric, selector string) string {
	return "max by (" + id + ") (" + metric + "{" + selector + "} @ end())"
}

// dollarsAMonth is what bytes cost, at the price that the reader typed in.
func dollarsAMonth(bytes string) string {
	return bytes + " / 2^30 * $price"
}

// orZero makes a count of nothing 0.
func orZero(expr string) string {
	return expr + " or vector(0)"
}

// A line of the index card has the figures that have a limit of their own.
type line struct {
	name    string
	figures []figure
	about   string
}

// A figure is a series over its limit: 1 is at the limit, more is worse. It keeps the label
// `threshold` as its name. Where a figure must first matter, as in the alerts, it is 0 until then.
type figure struct {
	name string
	over func(selector string) string
}

func limit(threshold, selector string) string {
	return `table_threshold:iceberg_table_threshold:max{threshold="` + threshold + `",` + selector + `}`
}

// over divides series, one a table, by the limit of the table.
func over(threshold, series string) figure {
	return figure{threshold, func(selector string) string {
		return series + " / on (" + id + ") group_right () " + limit(threshold, selector)
	}}
}

// matters makes series 0 for tables where condition is false.
func matters(series string, conditions ...string) string {
	for _, condition := range conditions {
		series += " * on (" + id + ") (" + condition + ")"
	}
	return "(" + series + ")"
}

var card = []line{
	{"Measure", []figure{
		over("data_files", "table:iceberg_table_data_files:max"),
		{"average_file_size_bytes", func(selector string) string {
			return limit("average_file_size_bytes", selector) +
				" / on (" + id + ") group_left () table:iceberg_table_data_file_average_bytes:max" +
				" * on (" + id + ") group_left () (table:iceberg_table_data_files:max >= bool 100)"
		}},
		over("small_file_ratio", matters("table:iceberg_table_small_data_file_ratio:max", "table:iceberg_table_data_files:max >= bool 100")),
	}, "data files, their average size and the share of small ones (sizes only from 100 files on)"},
	{"Fix the writer", []figure{
		{"new_file_size_bytes", func(selector string) string {
			return `label_replace(` + perTable("iceberg_table_target_file_size_bytes", selector) + " / 4" +
				" / on (" + id + ") table:iceberg_table_recent_added_bytes_per_data_file:ratio" +
				" * on (" + id + ") (table:iceberg_table_recent_added_data_files:max >= bool 100)" +
				" and on (" + id + ") " + limit("average_file_size_bytes", selector) +
				`, "threshold", "new_file_size_bytes", "", "")`
		}},
	}, "a quarter of the target size over the average size of the newest files (from 100 new files on)"},
	{"Compact", []figure{
		over("compaction_age_seconds", "("+matters("table:iceberg_table_compaction_age_seconds:lower_bound",
			"max by ("+id+") (iceberg_table_appends_since_compaction) > bool 0",
			"table:iceberg_table_recent_commits:max > bool 0")+
			" unless on ("+id+") table:iceberg_table_compaction_candidate_files:max == 0)"),
		over("delete_file_ratio", matters("table:iceberg_table_delete_files_per_data_file:ratio", "table:iceberg_table_delete_files:sum >= bool 100")),
	}, "time without a compaction while the table is appended to, delete files a data file (from 100 delete files on)"},
	{"Clean up", []figure{
		over("snapshots", "table:iceberg_table_snapshots:max"),
		over("manifests", "table:iceberg_table_manifests:sum"),
		over("metadata_bytes", "table:iceberg_table_metadata_bytes:max"),
	}, "snapshots, manifests and the size of metadata.json"},
	{"Sweep", []figure{
		over("orphan_ratio", matters("table:iceberg_table_orphan_ratio:max", "table:iceberg_table_orphan_bytes:max >= bool 1024 * 1024 * 1024")),
	}, "the share of bytes that no snapshot refers to (from 1 GiB on), where orphan scanning is on"},
	{"Freshness", []figure{
		over("snapshot_age_seconds", "table:iceberg_table_snapshot_age_seconds:min"),
	}, "the age of the current snapshot, where the table has such a limit"},
}

// figureNames are what people call the figures.
var figureNames = map[string]string{
	"data_files":              "data files",
	"average_file_size_bytes": "average file size",
	"small_file_ratio":        "small files",
	"new_file_size_bytes":     "size of new files",
	"compaction_age_seconds":  "compaction age",
	"delete_file_ratio":       "delete files",
	"snapshots":               "snapshots",
	"manifests":               "manifests",
	"metadata_bytes":          "metadata.json",
	"orphan_ratio":            "orphans",
	"snapshot_age_seconds":    "age of the data",
}

// worst is the figure of a line that is furthest over its limit.
func (l line) worst(selector string) string {
	return "max by (" + id + ") (\n  " + union(l.figures, selector) + "\n)"
}

// allFigures has a series for each table and limit.
func allFigures(selector string) string {
	var figures []figure
	for _, l := range card {
		figures = append(figures, l.figures...)
	}
	return union(figures, selector)
}

func union(figures []figure, selector string) string {
	var parts []string
	for _, f := range figures {
		parts = append(parts, f.over(selector))
	}
	return strings.Join(parts, "\n  or\n  ")
}

// firing selects the alerts of this project that fire.
func firing(selector string) string {
	return `ALERTS{alertname=~"Iceberg.+",alertstate="firing",` + selector + `}`
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
