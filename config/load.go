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
		d.errors.add("", yamlErrorLine(err), err.Error())
		return nil, &Error{File: file, errors: d.errors}
	}
	if root != nil {
		// Catalogs start from the defaults of the file, so those come first,
		// wherever the file has them.
		catalogs := cutField(root, "catalogs")
		d.prepare = func(any) {}
		d.decode("", root, reflect.ValueOf(c).Elem())
		if catalogs != nil {
			d.prepare = func(element any) { prepare(element, c.Settings) }
			d.decode("catalogs", catalogs, reflect.ValueOf(&c.Catalogs).Elem())
		}
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

// cutField removes a field from a mapping and returns its value. A second field
// of that name stays, for the decoder to complain about.
func cutField(node *yaml.Node, name string) *yaml.Node {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	var value *yaml.Node
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].Value != name {
			continue
		}
		if value != nil {
			return value
		}
		value = node.Content[i+1]
		rest := append([]*yaml.Node{}, node.Content[:i]...)
		node.Content = append(rest, node.Content[i+2:]...)
		i -= 2
	}
	return value
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// yamlErrorLine finds the line in the YAML library's message.
func yamlErrorLine(err error) int {
	if match := yamlLine.FindStringSubmatch(err.Error()); match != nil {
		line, _ := strconv.Atoi(match[1])
		return line
	}
	return 0
}
