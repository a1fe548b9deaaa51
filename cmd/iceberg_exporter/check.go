package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/iceberg-exporter/iceberg_exporter/card"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// progressInterval is how often a person is told how far the reading is.
const progressInterval = 200 * time.Millisecond

// check prints the index cards of tables, and returns 1 when a limit of one is crossed.
func (e *exporter) check(f *flags, stdout, stderr io.Writer) int {
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		_ = e.fleet.Close(ctx)
	}()
	stop := e.showProgress(stderr)
	tables, err := e.measureNow(f.tables)
	if err == nil && f.scan {
		tables = e.scanNow(tables)
	}
	stop()
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	status := 0
	cards := make([]card.Card, len(tables))
	for i, t := range tables {
		cards[i] = card.New(t, e.fleet.Now())
		if cards[i].IsOver() {
			status = 1
		}
	}
	if err := printCards(cards, f.output, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	return status
}

// measureNow measures the tables of these names, or all.
func (e *exporter) measureNow(names []string) ([]refresh.Table, error) {
	ctx := context.Background() // Every table has its own time.
	if len(names) == 0 {
		e.fleet.Refresh(ctx)
		return e.fleet.Snapshot().Tables, nil
	}
	var tables []refresh.Table
	for _, name := range names {
		t, covered := e.fleet.RefreshTable(ctx, name)
		if !covered {
			return nil, fmt.Errorf("the configuration covers no table %q", name)
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// scanNow lists the storage of tables.
func (e *exporter) scanNow(tables []refresh.Table) []refresh.Table {
	var keys []refresh.Key
	for _, t := range tables {
		keys = append(keys, t.Key)
	}
	return e.fleet.ScanTables(context.Background(), keys)
}

func printCards(cards []card.Card, output string, w io.Writer) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(cards)
	}
	for i, c := range cards {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := c.WriteText(w, isTerminal(w)); err != nil {
			return err
		}
	}
	return nil
}

// showProgress tells on a terminal how many tables are measured, until it is stopped.
func (e *exporter) showProgress(w io.Writer) (stop func()) {
	if !isTerminal(w) {
		return func() {}
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				fmt.Fprint(w, "\r\x1b[K")
				return
			case <-ticker.C:
				s := e.fleet.Stats()
				fmt.Fprintf(w, "\r\x1b[K%d tables measured, %d under way, %d manifests read", s.Succeeded+s.Failed, s.InFlight, e.measurer.ManifestsRead())
			}
		}
	}()
	return func() { close(done); <-stopped }
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == ""
}
