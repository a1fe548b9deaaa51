package card_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/iceberg-exporter/iceberg_exporter/card"
	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
)

var update = flag.Bool("update", false, "write the golden file anew")

// now is shortly after the sample tables' last commits.
var now = time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)

// measured measures the sample tables.
func measured(t *testing.T, settings string) []refresh.Table {
	t.Helper()
	c, err := config.Parse("test", []byte(settings+"\ncatalogs: [{name: sample, type: hadoop, warehouse: ../testdata/warehouse, allow_moved_paths: true}]"))
	if err != nil {
		t.Fatal(err)
	}
	fleet := refresh.NewFleet(refresh.Options{
		Measurer: measure.NewMeasurer(manifest.NewCache(1 << 20)), Counter: &fileio.Counter{}, Logger: log.NewNopLogger(), Now: func() time.Time { return now },
	})
	t.Cleanup(func() { _ = fleet.Close(context.Background()) })
	fleet.Apply(c)
	fleet.Refresh(t.Context())
	return fleet.Snapshot().Tables
}

// TestSample compares the cards of the sample tables with a golden file.
func TestSample(t *testing.T) {
	var got bytes.Buffer
	for _, table := range measured(t, "") {
		if err := card.New(table, now).WriteText(&got, false); err != nil {
			t.Fatal(err)
		}
		got.WriteString("\n")
	}
	const golden = "testdata/sample.txt"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the cards differ from %s; run the test with -update and look at the difference", golden)
	}
	for line := range strings.Lines(got.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > card.Width && !strings.Contains(line, "CALL") && !strings.Contains(line, "/metadata/") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func find(t *testing.T, tables []refresh.Table, name string) card.Card {
	t.Helper()
	for _, table := range tables {
		if table.Key.String() == name {
			return card.New(table, now)
		}
	}
	t.Fatalf("there is no table %s", name)
	return card.Card{}
}

// TestLimits: a limit that is switched off is crossed by nothing.
func TestLimits(t *testing.T) {
	off := "thresholds: {data_files: null, average_file_size_bytes: null, small_file_ratio: null, manifests: null, snapshots: null, compaction_age_seconds: null, delete_file_ratio: null, metadata_bytes: null}"
	if c := find(t, measured(t, off), "sample.streaming.clicks"); c.IsOver() || c.Crossed() != 0 {
		t.Errorf("%+v", c)
	}
	if c := find(t, measured(t, "thresholds: {data_files: 249, manifests: 249, snapshots: 1}"), "sample.streaming.clicks"); c.Crossed() != 5 {
		t.Errorf("%d limits are crossed", c.Crossed())
	}
}

func TestNotMeasured(t *testing.T) {
	c := card.New(refresh.Table{Key: refresh.Key{Catalog: "c"}, Err: os.ErrPermission}, now)
	var text bytes.Buffer
	if err := c.WriteText(&text, true); err != nil {
		t.Fatal(err)
	}
	if !c.IsOver() || !strings.Contains(text.String(), "not measured") || !strings.Contains(text.String(), "permission denied") {
		t.Error(text.String())
	}
}

// TestNames: the commands quote what Spark's SQL wants quoted.
func TestNames(t *testing.T) {
	for _, table := range measured(t, "") {
		if table.Key.String() != "sample.streaming.clicks" {
			continue
		}
		table.Key.Catalog, table.Key.Namespace, table.Key.Name = "my-lake", "a.it's", "t`1"
		commands := card.New(table, now).Commands
		if want := "CALL `my-lake`.system.rewrite_data_files(table => 'a.`it\\'s`.`t``1`');"; len(commands) == 0 || commands[0] != want {
			t.Errorf("got %q, want %q", commands, want)
		}
	}
}

// TestJSON: what scripts read has every figure of the text.
func TestJSON(t *testing.T) {
	text, err := json.Marshal(find(t, measured(t, ""), "sample.streaming.clicks"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"table":"clicks"`, `{"name":"data files","unit":"count","value":250,"limit":10000,"verdict":"ok"}`, `"verdict":"over"`, `"at_least":true`, `CALL sample.system.rewrite_data_files`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
}

// TestSweep: what a scan found, and no more than it could tell.
func TestSweep(t *testing.T) {
	var orders refresh.Table
	for _, table := range measured(t, "") {
		if table.Key.Name == "orders" {
			orders = table
		}
	}
	figures := storage.Figures{
		Usage:   map[storage.State]storage.Usage{storage.Live: {Files: 10, Bytes: 1 << 30}, storage.Orphan: {Files: 3, Bytes: 1 << 30}},
		Missing: new(int64(0)), ExpirableBytes: new(int64(2 << 20)),
	}
	for name, c := range map[string]struct {
		scan func(*refresh.Scan, *storage.Figures)
		want string
		over int
	}{
		"no scan": {func(s *refresh.Scan, _ *storage.Figures) { *s = refresh.Scan{} }, "orphan files: not known without --scan", 0},
		"failed":  {func(s *refresh.Scan, _ *storage.Figures) { s.Result = nil }, "orphan files: not known: the scan failed", 0},
		"whole":   {func(*refresh.Scan, *storage.Figures) {}, "orphan files 3, of these bytes 1.073741824e+09, share of all bytes 0.5 over, expire_snapshots would free 2.097152e+06", 1},
		"few orphans": {func(_ *refresh.Scan, f *storage.Figures) {
			f.Usage[storage.Orphan] = storage.Usage{Files: 1, Bytes: 1<<30 - 1}
			f.Usage[storage.Live] = storage.Usage{}
		}, "orphan files 1, of these bytes 1.073741823e+09, share of all bytes 1 ignored, expire_snapshots would free 2.097152e+06", 0},
		"nothing": {func(_ *refresh.Scan, f *storage.Figures) { f.Usage, f.ExpirableBytes = nil, nil }, "orphan files 0, of these bytes 0", 0},
		"shared":  {func(s *refresh.Scan, _ *storage.Figures) { s.SharedWith = &refresh.Key{Catalog: "c"} }, "orphan files: location shared with c., expire_snapshots would free 2.097152e+06", 0},
		"refused": {func(_ *refresh.Scan, f *storage.Figures) { f.Refusal = "why" }, "orphan files: it cannot be told: why, expire_snapshots would free 2.097152e+06", 0},
		"files missed": {func(_ *refresh.Scan, f *storage.Figures) {
			f.Refusal, f.Missing, f.ExpirableBytes = "why", new(int64(2)), nil
		}, "orphan files: it cannot be told: why, files missing 2 over", 1},
	} {
		changed, f := orders, figures
		f.Usage = maps.Clone(figures.Usage)
		changed.Scan = refresh.Scan{Done: true, Succeeded: true, Result: &measure.Scan{Figures: &f}}
		c.scan(&changed.Scan, &f)
		sweep := card.New(changed, now)
		line := sweep.Lines[len(sweep.Lines)-1]
		var got []string
		over := 0
		for _, figure := range line.Figures {
			text := figure.Name
			if figure.Value != nil {
				text += fmt.Sprint(" ", *figure.Value)
			} else {
				text += ": " + figure.Text
			}
			if figure.Verdict == card.Over || figure.Verdict == card.Ignored {
				text += " " + string(figure.Verdict)
			}
			if figure.Verdict == card.Over {
				over++
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != c.want || over != c.over {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
		wants := name == "whole" || name == "few orphans" || len(card.New(orders, now).Commands) > 0
		if has := strings.Contains(strings.Join(sweep.Commands, ""), "remove_orphan_files"); has != wants {
			t.Errorf("%s: commands %q", name, sweep.Commands)
		}
	}
}
