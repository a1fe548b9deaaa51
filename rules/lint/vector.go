package lint

import (
	"maps"
	"slices"
	"strings"
)

// set is a set of label names, or of the values of a label.
type set map[string]bool

func setOf(members ...string) set {
	s := set{}
	for _, m := range members {
		s[m] = true
	}
	return s
}

func (s set) String() string { return strings.Join(slices.Sorted(maps.Keys(s)), ", ") }

func (s set) and(t set) set {
	both := set{}
	for m := range s {
		if t[m] {
			both[m] = true
		}
	}
	return both
}

func (s set) or(t set) set {
	either := maps.Clone(s)
	maps.Copy(either, t)
	return either
}

func (s set) minus(t set) set {
	rest := set{}
	for m := range s {
		if !t[m] {
			rest[m] = true
		}
	}
	return rest
}

// vector is what is known of the series of an instant or range vector, whatever the tables,
// exporters and values are.
type vector struct {
	// labels are on each series.
	labels set
	// key tells the series apart: no two agree in all of these labels.
	key set
	// values are those that a label can have, for the labels where that is known.
	values map[string]set
}

// Prometheus' own configuration can add labels to what it scrapes, say one for the cluster. They tell series
// apart as job and instance do. Their names are not known, so that no expression can join on them.
const otherTargetLabels = "(labels of the target)"

var targetLabels = setOf("job", "instance", otherTargetLabels)

// identity are the labels that name a catalog, a namespace and a table. Where two vectors have them, they have to agree.
var identity = setOf("catalog", "namespace", "table")

// scraped is a metric with these labels as Prometheus scrapes it, perhaps from several exporters.
func scraped(labels ...string) vector {
	all := setOf(labels...).or(targetLabels)
	return vector{labels: all.minus(setOf(otherTargetLabels)), key: all}
}

// distinguishing is the key without the labels that have a single value.
func (v vector) distinguishing() set {
	key := set{}
	for label := range v.key {
		if len(v.values[label]) != 1 {
			key[label] = true
		}
	}
	return key
}

// keep leaves these labels only, as an aggregation does.
func (v vector) keep(labels set) vector {
	kept := v.labels.and(labels)
	key := v.distinguishing()
	if len(key.minus(kept)) > 0 {
		key = kept
	}
	return vector{labels: kept, key: key, values: v.valuesOf(kept)}
}

// drop leaves these labels out and keeps the rest, also what is not known by name.
func (v vector) drop(labels set) vector {
	kept := v.labels.minus(labels)
	key := v.distinguishing()
	if len(key.and(labels)) > 0 {
		key = kept.or(key.minus(labels))
	}
	return vector{labels: kept, key: key, values: v.valuesOf(kept)}
}

func (v vector) valuesOf(labels set) map[string]set {
	values := map[string]set{}
	for label, known := range v.values {
		if labels[label] {
			values[label] = known
		}
	}
	return values
}

// with is the vector with a label set to a value that is the same everywhere, or not known.
func (v vector) with(label, value string) vector {
	values := maps.Clone(v.values)
	if values == nil {
		values = map[string]set{}
	}
	delete(values, label)
	if value != "" {
		values[label] = setOf(value)
	}
	return vector{labels: v.labels.or(setOf(label)), key: v.key, values: values}
}
