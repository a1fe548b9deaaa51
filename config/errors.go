package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// fieldError is one mistake at one place of a file.
type fieldError struct {
	line    int
	path    string
	message string
}

type fieldErrors []fieldError

func (e *fieldErrors) add(path string, line int, message string) {
	*e = append(*e, fieldError{line: line, path: path, message: message})
}

// Error lists every mistake of a configuration file, one a line.
type Error struct {
	File   string
	errors fieldErrors
}

// Error implements error.
func (e *Error) Error() string { return strings.Join(e.Lines(), "\n") }

// Lines returns one text a mistake: file, line, field and what is wrong.
func (e *Error) Lines() []string {
	sorted := slices.Clone(e.errors)
	slices.SortStableFunc(sorted, func(a, b fieldError) int {
		return cmp.Or(cmp.Compare(a.line, b.line), strings.Compare(a.path, b.path))
	})
	lines := make([]string, len(sorted))
	for i, mistake := range sorted {
		place := e.File
		if mistake.line > 0 {
			place = fmt.Sprintf("%s:%d", e.File, mistake.line)
		}
		if mistake.path != "" {
			place += ": " + mistake.path
		}
		lines[i] = place + ": " + mistake.message
	}
	return lines
}
