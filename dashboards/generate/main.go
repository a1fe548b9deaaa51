// Command generate writes the Grafana dashboards of this repository as JSON.
//
//	go run . ..
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(directory string) error {
	all, err := dashboards()
	if err != nil {
		return err
	}
	for _, d := range all {
		content, err := encode(d)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, fileName(d)), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func dashboards() ([]dashboard.Dashboard, error) {
	var all []dashboard.Dashboard
	for _, build := range []func() page{fleet, table, exporter} {
		d, err := build().build()
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func fileName(d dashboard.Dashboard) string {
	return *d.Uid + ".json"
}

// encode leaves `<`, `>` and `&` as they are, so that a person can read the queries.
func encode(d dashboard.Dashboard) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(d)
	return buffer.Bytes(), err
}
