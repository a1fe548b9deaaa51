// Command predict prints what the procedures would do to a table in a directory,
// as JSON.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/interop"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: predict <table directory>") }
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := predict(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func predict(directory string) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer root.Close()
	hint, err := root.ReadFile("metadata/version-hint.text")
	if err != nil {
		return err
	}
	state, err := interop.Load(root.FS(), path.Join("metadata", "v"+strings.TrimSpace(string(hint))+".metadata.json"))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(state.Answer(time.Now()))
}
