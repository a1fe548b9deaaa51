package config

import (
	"encoding"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder fills Go values from YAML nodes. Unlike the YAML library's own
// decoding it goes on after a mistake, knows the path of every field, expands
// ${NAME} in values, and lets a value start as a copy of its defaults.
type decoder struct {
	errors fieldErrors
	// lines has the line of every field that the file sets, by path.
	lines map[string]int
	// values counts what was decoded.
	values int
	// prepare gives a new list element its defaults.
	prepare func(element any)
}

// maxValues bounds what aliases of aliases can blow a file up to.
const maxValues = 100_000

// decode fills target from node. What the file does not set keeps its value.
func (d *decoder) decode(path string, node *yaml.Node, target reflect.Value) {
	if d.values++; d.values > maxValues {
		if d.values == maxValues+1 {
			d.errors.add(path, node.Line, fmt.Sprintf("with its aliases expanded the file has more than %d values", maxValues))
		}
		return
	}
	d.lines[path] = node.Line
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	isNull := node.Kind == yaml.ScalarNode && node.Tag == "!!null"
	if unmarshaler, ok := reflect.TypeAssert[encoding.TextUnmarshaler](target.Addr()); ok {
		d.scalar(path, node, func(text string) error { return unmarshaler.UnmarshalText([]byte(text)) })
		return
	}
	switch target.Kind() {
	case reflect.Pointer:
		if isNull {
			target.SetZero()
			return
		}
		value := reflect.New(target.Type().Elem())
		d.decode(path, node, value.Elem())
		target.Set(value)
	case reflect.Struct:
		if !isNull {
			d.structure(path, node, target)
		}
	case reflect.Slice:
		if !isNull {
			d.list(path, node, target)
		}
	case reflect.Map:
		if !isNull {
			d.textMap(path, node, target)
		}
	case reflect.String:
		d.scalar(path, node, func(text string) error {
			target.SetString(text)
			return nil
		})
	case reflect.Int:
		d.scalar(path, node, func(text string) error {
			n, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("is not a whole number")
			}
			target.SetInt(int64(n))
			return nil
		})
	case reflect.Bool:
		d.scalar(path, node, func(text string) error {
			if text != "true" && text != "false" {
				return fmt.Errorf("is neither true nor false")
			}
			target.SetBool(text == "true")
			return nil
		})
	default:
		panic(fmt.Sprintf("config: no way to decode a %s", target.Type()))
	}
}

func (d *decoder) scalar(path string, node *yaml.Node, set func(text string) error) {
	if node.Kind != yaml.ScalarNode {
		d.errors.add(path, node.Line, "wants a single value")
		return
	}
	if node.Tag == "!!null" {
		d.errors.add(path, node.Line, "has no value")
		return
	}
	text, err := expandEnvironment(node.Value)
	if err != nil {
		d.errors.add(path, node.Line, err.Error())
		return
	}
	// The message shows what the file says, never what a variable holds.
	if err := set(text); err != nil {
		d.errors.add(path, node.Line, fmt.Sprintf("%q %v", node.Value, err))
	}
}

func (d *decoder) structure(path string, node *yaml.Node, target reflect.Value) {
	fields := map[string]reflect.Value{}
	collectFields(target, fields)
	d.fields(path, node, func(at string, key, value *yaml.Node) {
		if field, known := fields[key.Value]; known {
			d.decode(at, value, field)
		} else {
			d.errors.add(at, key.Line, "unknown field")
		}
	})
}

// fields visits the fields of a mapping, each once.
func (d *decoder) fields(path string, node *yaml.Node, visit func(at string, key, value *yaml.Node)) {
	if node.Kind != yaml.MappingNode {
		d.errors.add(path, node.Line, "wants fields (name: value)")
		return
	}
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch at := join(path, key.Value); {
		case key.Kind != yaml.ScalarNode:
			d.errors.add(path, key.Line, "has a field whose name is not a plain text")
		case key.Tag == "!!merge":
			d.errors.add(at, key.Line, "merging is not supported: repeat the fields, or use an alias for the whole value")
		case seen[key.Value]:
			d.errors.add(at, key.Line, "is set twice")
		default:
			seen[key.Value] = true
			visit(at, key, value)
		}
	}
}

// collectFields finds the fields of a struct, and of those inlined in it, by
// their YAML names.
func collectFields(target reflect.Value, fields map[string]reflect.Value) {
	for i := range target.NumField() {
		name, options, _ := strings.Cut(target.Type().Field(i).Tag.Get("yaml"), ",")
		if options == "inline" {
			collectFields(target.Field(i), fields)
			continue
		}
		fields[name] = target.Field(i)
	}
}

func (d *decoder) list(path string, node *yaml.Node, target reflect.Value) {
	if node.Kind != yaml.SequenceNode {
		d.errors.add(path, node.Line, "wants a list")
		return
	}
	list := reflect.MakeSlice(target.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		element := list.Index(i)
		d.prepare(element.Addr().Interface())
		d.decode(fmt.Sprintf("%s[%d]", path, i), item, element)
	}
	target.Set(list)
}

func (d *decoder) textMap(path string, node *yaml.Node, target reflect.Value) {
	target.Set(reflect.MakeMap(target.Type()))
	d.fields(path, node, func(at string, key, item *yaml.Node) {
		value := reflect.New(target.Type().Elem()).Elem()
		d.decode(at, item, value)
		target.SetMapIndex(reflect.ValueOf(key.Value), value)
	})
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

var variable = regexp.MustCompile(`\$?\$\{([^}]*)\}`)

// expandEnvironment replaces ${NAME} with the environment variable NAME and
// $${NAME} with the text ${NAME}.
func expandEnvironment(text string) (string, error) {
	var err error
	expanded := variable.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		name := match[2 : len(match)-1]
		value, set := os.LookupEnv(name)
		if !set && err == nil {
			err = fmt.Errorf("the environment variable %s is not set", name)
		}
		return value
	})
	return expanded, err
}
