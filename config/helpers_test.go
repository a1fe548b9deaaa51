package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// parse returns the configuration of a text that must be right.
func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("test.yml", []byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return c
}

// mistakes returns the mistakes of a text that must not be right.
func mistakes(t *testing.T, text string) []string {
	t.Helper()
	c, err := Parse("test.yml", []byte(text))
	var all *Error
	if !errors.As(err, &all) {
		t.Fatalf("Parse returned %v, want an *Error", err)
	}
	if c != nil {
		t.Error("Parse returned a configuration beside its error")
	}
	return all.Lines()
}

// show returns the shown form of a configuration.
func show(t *testing.T, c *Config) string {
	t.Helper()
	text, err := c.Show()
	if err != nil {
		t.Fatalf("Show: %v", err)
	}
	return string(text)
}

// compareGolden compares with a file of testdata, which -update writes.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test ./config -update writes it anew); got:\n%s", file, got)
	}
}

// secretFile returns the path of a file with this text.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
