package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yml")
	if _, err := Load(file); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), file) {
		t.Errorf("a file that is not there gave %v", err)
	}
	if err := os.WriteFile(file, []byte("a: 1\nb: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(file)
	var all *Error
	if !errors.As(err, &all) || all.File != file {
		t.Fatalf("got %v", err)
	}
	if want := file + ":1: a: unknown field\n" + file + ":2: b: unknown field"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestJSONIsYAML(t *testing.T) {
	c := parse(t, `{"partitions_top": 5, "catalogs": [{"name": "c", "type": "glue", "tables": [{"name": "a.b", "thresholds": {"manifests": null}}]}]}`)
	if table := c.Catalogs[0].Tables[0]; table.PartitionsTop != 5 || table.Thresholds.Manifests != nil {
		t.Errorf("got %+v", table)
	}
}

// FuzzParse: whatever the text, there is a configuration or a list of mistakes.
// A configuration can be shown, and its shown form is one that looks the same.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yml", "../config.example.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	for _, text := range []string{
		"", "---\n...\n", "#", "\xef\xbb\xbfscrape: {}", "!!null x", "? {}\n: 1", "catalogs: &c [*c]", "a: &a {<<: *a}", "scrape: !foo {concurrency: !!int 3}",
		"catalogs: [{name: c, type: hadoop, warehouse: 's3://u:p@b?x', tables: [{name: '**'}, {name: \"a\\n.*\"}]}]",
		"catalogs: [{name: \"\\x85\\e\", type: glue, properties: {a: 'x://%', \"\": ~}}]",
		"small_file_threshold: !!binary MQ==\nthresholds: {data_files: 0x1p-2, metadata_bytes: 9EiB}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("fuzz.yml", text)
		if err != nil {
			var all *Error
			if c != nil || !errors.As(err, &all) || len(all.Lines()) == 0 {
				t.Fatalf("got %v, %v", c, err)
			}
			return
		}
		for i := range c.Catalogs {
			c.Catalogs[i].Match("a.b.c")
			c.Catalogs[i].MayMatchIn("a.b")
		}
		shown := show(t, c)
		// Secrets do not come back, and a shown ${NAME} is the text that the file has as $${NAME}.
		if strings.Contains(shown, redacted) || strings.Contains(shown, "${") {
			return
		}
		again, err := Parse("shown.yml", []byte(shown))
		if err != nil {
			t.Fatalf("%v of\n%s", err, shown)
		}
		if got := show(t, again); got != shown {
			t.Errorf("%s\nbecame\n%s", shown, got)
		}
	})
}
