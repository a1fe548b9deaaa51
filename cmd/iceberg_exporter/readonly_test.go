package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// changes matches the names of all functions of the standard library, the object
// stores' clients and the catalogs' that create, change or delete what is stored.
var changes = regexp.MustCompile(`^(New\w*Writer\w*|Write(All|File|To|From)|OpenFile|OpenRoot|Create\w*|Mkdir\w*|CopyFS|Copy|Upload\w*|Put\w*|Post\w*|` +
	`Remove\w*|Delete\w*|Drop\w*|Purge\w*|Rename\w*|Truncate|Chmod|Chown|Chtimes|Lchown|Link|Symlink|Commit\w*|Update\w*|Register\w*Table|Exec\w*|SignedURL)$`)

// harmless are calls of such names that store nothing, and those for the one file
// that is written: the state file of the scans, on the local disk.
var harmless = map[string]bool{
	"slices.DeleteFunc": true, "maps.DeleteFunc": true, "maps.Copy": true, "io.Copy": true,
	// Entries of caches in memory.
	"manifest/cache.go c.scanned.Remove": true, "manifest/cache.go c.scanned.RemoveOldest": true, "manifest/cache.go c.records.RemoveOldest": true,
	"source/rest.go c.storages.Purge": true,
	// A copy of settings in memory, a rounded duration, lines of a log.
	"source/glue.go config.Copy": true, "card/text.go d.Truncate": true, "logging/logging.go log.NewSyncWriter": true,
	// The state file.
	"refresh/results.go os.CreateTemp": true, "refresh/results.go os.Rename": true, "refresh/results.go os.Remove": true,
}

// TestNothingIsWritten: no code of the exporter can change or delete anything in
// storage or in a catalog. It calls nothing that does, whatever it is called on.
func TestNothingIsWritten(t *testing.T) {
	root := repository(t)
	command := exec.Command("go", "list", "-deps", "-f", `{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}`, "./cmd/iceberg_exporter")
	command.Dir = root
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	files := token.NewFileSet()
	for directory := range strings.FieldsSeq(string(output)) {
		sources, err := filepath.Glob(filepath.Join(directory, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range sources {
			if strings.HasSuffix(source, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(files, source, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(root, source)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				called := ""
				switch n := n.(type) {
				case *ast.CallExpr:
					called = spelled(n.Fun)
				case *ast.SelectorExpr:
					// A function of this package can also be handed on.
					if called = spelled(n); !strings.HasPrefix(called, "os.") {
						return true
					}
				}
				if !changes.MatchString(called[strings.LastIndexByte(called, '.')+1:]) || !strings.Contains(called, ".") {
					return true
				}
				used[called], used[name+" "+called] = true, true
				if !harmless[called] && !harmless[name+" "+called] {
					t.Errorf("%s: %s may change what is stored", files.Position(n.Pos()), called)
				}
				return true
			})
		}
	}
	for called := range harmless {
		if !used[called] {
			t.Errorf("%s is not called anywhere", called)
		}
	}
}

// spelled is a selector as it is written.
func spelled(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return spelled(e.X) + "." + e.Sel.Name
	default:
		return "(...)"
	}
}
