package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Load reads and checks a configuration file. When the file can be read but is
// not right, the error is an *Error with every mistake.
func Load(file string) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return Parse(file, text)
}

// Parse checks the text of a configuration file; file names it in errors.
func Parse(file string, text []byte) (*Config, error) {
	c := defaults()
	d := &decoder{lines: map[string]int{}}
	root, err := parseYAML(text)
	if err != nil {
		d.errors = append(d.errors, syntaxError(err))
		return nil, &Error{File: file, errors: d.errors}
	}
	if root != nil {
		// Tables start from the defaults of the file, so those come first,
		// wherever the file has them.
		moveLast(root, "catalogs")
		d.prepare = func(element any) { prepare(element, c.Settings) }
		d.decode("", root, reflect.ValueOf(c).Elem())
	}
	c.complete()
	validate(c, d)
	if len(d.errors) > 0 {
		return nil, &Error{File: file, errors: d.errors}
	}
	return c, nil
}

// prepare gives a catalog or a table of the file what it does not set itself.
func prepare(element any, settings Settings) {
	switch e := element.(type) {
	case *Catalog:
		e.DiscoveryInterval = defaultDiscoveryInterval
	case *Table:
		e.Settings = settings
		e.OrphanScan.StateFile = "" // It is the file's alone.
	}
}

// complete adds what follows from what is set: a catalog without tables watches all of them.
func (c *Config) complete() {
	for i := range c.Catalogs {
		catalog := &c.Catalogs[i]
		if len(catalog.Tables) == 0 && catalog.Type != Metadata {
			catalog.Tables = []Table{{Name: "**", Settings: c.Settings}}
		}
	}
}

// parseYAML returns the root node of the only document, or nil without one.
func parseYAML(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("wants one YAML document, has several")
	}
	return document.Content[0], nil
}

// moveLast moves the fields of this name to the end of a mapping.
func moveLast(node *yaml.Node, name string) {
	if node.Kind != yaml.MappingNode {
		return
	}
	var others, named []*yaml.Node
	for i := 0; i < len(node.Content); i += 2 {
		if field := node.Content[i : i+2]; field[0].Value == name {
			named = append(named, field...)
		} else {
			others = append(others, field...)
		}
	}
	node.Content = append(others, named...)
}

// yamlMessage takes the YAML library's message apart.
var yamlMessage = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)

// unknownAnchor is the message about an alias of nothing. It is not shown: an
// unquoted secret that starts with an asterisk reads like an alias.
var unknownAnchor = regexp.MustCompile(`^unknown anchor '.*' referenced$`)

// syntaxError is what the YAML library says of a text that is no YAML.
func syntaxError(err error) fieldError {
	match := yamlMessage.FindStringSubmatch(err.Error())
	if match == nil {
		return fieldError{message: "is not YAML"}
	}
	line, _ := strconv.Atoi(match[1])
	message := unknownAnchor.ReplaceAllString(match[2], "an alias (*name) has no anchor (&name): quote a text that starts with an asterisk")
	return fieldError{line: line, message: message}
}
