package manifest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/twmb/avro"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// A step reads a part of a record of an Avro file into a row. The step for whole
// records is compiled once a file from the schema in its header: fields that are
// wanted go to their slots, all others are passed over without being decoded,
// which is where a manifest with statistics for every column spends its bytes.
// What has no bytes has a nil step, so that it costs no time either.
type step func(c *cursor, r *row)

// row holds the wanted fields of one record. Texts and bytes are parts of the
// block that the record was read from, and gone with it.
type row struct {
	slots [slotCount]value
	// partition is the canonical form of the partition tuple.
	partition []byte
}

// value is a field that was read. A field that is null, or that the file does
// not have, is not set.
type value struct {
	set   bool
	long  int64
	bytes []byte
}

func (r *row) reset() {
	r.slots = [slotCount]value{}
	r.partition = r.partition[:0]
}

// slot is the place of a wanted field in a row.
type slot int

// The wanted fields of manifest entries and of manifest list entries.
const (
	slotStatus slot = iota
	slotSequenceNumber
	slotContent
	slotFilePath
	slotFileFormat
	slotRows
	slotSize
	slotLowerPath
	slotUpperPath
	slotReferencedFile
	slotContentSize
	slotSplits
	slotLastSplit
	slotManifestPath
	slotManifestLength
	slotSpecID
	slotAddedFiles
	slotExistingFiles
	slotDeletedFiles
	slotKeyMetadata
	slotCount
)

// field is one Avro field that is wanted. It is found in a file by its Iceberg
// field id, because writers differ in names; the names count only in files that
// carry no ids at all.
type field struct {
	id    int
	names []string
	// required fields must be in the schema, and must not be null.
	required bool
	// compile makes the step that reads the field.
	compile func(c *compiler, schema avro.SchemaNode) step
}

// maxSchemaNodes bounds the steps of a record: a hostile schema can name a type
// in a type in a type, which unfolds without end.
const maxSchemaNodes = 20_000

// compiler compiles schemas to steps.
type compiler struct {
	// named are the record, enum and fixed types that the schema defines.
	named map[string]avro.SchemaNode
	nodes int
	byID  bool
	err   error
}

// compile makes the step that reads the wanted fields of records of this schema,
// and describes the fields of their partition tuples, where they have any.
func compile(schema *avro.Schema, wanted []field) (step, []PartitionField, error) {
	root := *schema.Root()
	c := &compiler{named: map[string]avro.SchemaNode{}}
	c.define(root)
	c.byID = slices.ContainsFunc(root.Fields, func(f avro.SchemaField) bool { _, ok := fieldID(f); return ok })
	partition := c.partitionFields(root)
	record := c.record(root, wanted)
	return record, partition, c.err
}

func fieldID(f avro.SchemaField) (int, bool) {
	id, ok := f.Props["field-id"].(int64)
	return int(id), ok
}

// find returns the schema field that is wanted.
func (c *compiler) find(record avro.SchemaNode, want field) (avro.SchemaField, bool) {
	i := slices.IndexFunc(record.Fields, func(have avro.SchemaField) bool {
		if c.byID {
			id, ok := fieldID(have)
			return ok && id == want.id
		}
		return slices.Contains(want.names, have.Name)
	})
	if i < 0 {
		return avro.SchemaField{}, false
	}
	return record.Fields[i], true
}

func (c *compiler) fail(kind error, format string, args ...any) step {
	if c.err == nil {
		c.err = fmt.Errorf("%w: the Avro schema: %s", kind, fmt.Sprintf(format, args...))
	}
	return nil
}

// define notes every named type below a node.
func (c *compiler) define(node avro.SchemaNode) {
	if node.Name != "" {
		c.named[node.Name] = node
		if node.Namespace != "" {
			c.named[node.Namespace+"."+node.Name] = node
		}
	}
	for _, f := range node.Fields {
		c.define(f.Type)
	}
	for _, b := range node.Branches {
		c.define(b)
	}
	for _, below := range []*avro.SchemaNode{node.Items, node.Values} {
		if below != nil {
			c.define(*below)
		}
	}
}

// resolve follows a reference to a named type, and counts.
func (c *compiler) resolve(node avro.SchemaNode) avro.SchemaNode {
	c.nodes++
	if c.nodes > maxSchemaNodes {
		c.fail(metadata.ErrUnsupported, "more than %d types", maxSchemaNodes)
		return avro.SchemaNode{Type: "null"}
	}
	if defined, ok := c.named[node.Type]; ok && node.Name == "" {
		return defined
	}
	return node
}

// record compiles a record: wanted fields to their steps, the others to skips.
func (c *compiler) record(node avro.SchemaNode, wanted []field) step {
	node = c.resolve(node)
	if node.Type != "record" {
		return c.fail(metadata.ErrCorrupt, "a record is wanted, not %s", node.Type)
	}
	byName := map[string]field{}
	for _, want := range wanted {
		have, ok := c.find(node, want)
		if ok {
			byName[have.Name] = want
		} else if want.required {
			return c.fail(metadata.ErrCorrupt, "there is no %s (field id %d)", want.names[0], want.id)
		}
	}
	var steps []step
	for _, have := range node.Fields {
		if want, ok := byName[have.Name]; ok {
			steps = append(steps, c.nullable(have.Type, want))
		} else {
			steps = append(steps, c.skip(have.Type))
		}
	}
	return inTurn(steps)
}

// inTurn takes steps one after the other.
func inTurn(steps []step) step {
	steps = slices.DeleteFunc(steps, func(s step) bool { return s == nil })
	if len(steps) == 0 {
		return nil
	}
	return func(c *cursor, r *row) {
		for _, s := range steps {
			s(c, r)
		}
	}
}

// nullable compiles a wanted field whatever branches its union has.
func (c *compiler) nullable(node avro.SchemaNode, want field) step {
	node = c.resolve(node)
	if node.Type != "union" {
		return want.compile(c, node)
	}
	branches := make([]step, len(node.Branches))
	for i, branch := range node.Branches {
		switch {
		case branch.Type != "null":
			branches[i] = want.compile(c, c.resolve(branch))
		case want.required:
			branches[i] = func(c *cursor, _ *row) { c.fail("%s is null", want.names[0]) }
		}
	}
	return union(branches)
}

// union reads the branch that a value has.
func union(branches []step) step {
	return func(c *cursor, r *row) {
		branch := c.long()
		if branch < 0 || branch >= int64(len(branches)) {
			c.fail("there is no union branch %d", branch)
			return
		}
		if read := branches[branch]; read != nil {
			read(c, r)
		}
	}
}

// long compiles a wanted int or long.
func long(to slot) func(*compiler, avro.SchemaNode) step {
	return func(c *compiler, node avro.SchemaNode) step {
		if node.Type != "int" && node.Type != "long" {
			return c.fail(metadata.ErrCorrupt, "an integer is wanted, not %s", node.Type)
		}
		return func(c *cursor, r *row) { r.slots[to] = value{set: true, long: c.long()} }
	}
}

// text compiles a wanted string or bytes.
func text(to slot) func(*compiler, avro.SchemaNode) step {
	return func(c *compiler, node avro.SchemaNode) step {
		if node.Type != "string" && node.Type != "bytes" {
			return c.fail(metadata.ErrCorrupt, "a string is wanted, not %s", node.Type)
		}
		return func(c *cursor, r *row) { r.slots[to] = value{set: true, bytes: c.bytes()} }
	}
}

// nested compiles a wanted record.
func nested(wanted []field) func(*compiler, avro.SchemaNode) step {
	return func(c *compiler, node avro.SchemaNode) step { return c.record(node, wanted) }
}

// bound compiles the lower or upper bounds of columns, of which one column's is
// wanted. Avro has no maps with numbers as keys, so they are lists of pairs.
func bound(column int64, to slot) func(*compiler, avro.SchemaNode) step {
	return func(c *compiler, node avro.SchemaNode) step {
		isPair := func(node avro.SchemaNode) bool {
			return len(node.Fields) == 2 && node.Fields[0].Type.Type == "int" && node.Fields[1].Type.Type == "bytes"
		}
		if node.Type != "array" || node.Items == nil || !isPair(c.resolve(*node.Items)) {
			return c.skip(node)
		}
		return list(func(c *cursor, r *row) {
			key, bytes := c.long(), c.bytes()
			if key == column {
				r.slots[to] = value{set: true, bytes: bytes}
			}
		})
	}
}

// offsets compiles a list of offsets to their number and the last of them. The
// number is 0 where they do not ascend.
func offsets(number, last slot) func(*compiler, avro.SchemaNode) step {
	return func(c *compiler, node avro.SchemaNode) step {
		if node.Type != "array" || node.Items == nil || c.resolve(*node.Items).Type != "long" {
			return c.skip(node)
		}
		return func(c *cursor, r *row) {
			var count, previous int64
			ascending := true
			c.blocks(r, func(c *cursor, _ *row) {
				offset := c.long()
				ascending = ascending && (count == 0 || offset > previous)
				count, previous = count+1, offset
			})
			if ascending {
				r.slots[number] = value{set: true, long: count}
				r.slots[last] = value{set: true, long: previous}
			}
		}
	}
}

// partition compiles the partition tuple to its canonical form.
func partition(c *compiler, node avro.SchemaNode) step {
	node = c.resolve(node)
	if node.Type != "record" {
		return c.fail(metadata.ErrCorrupt, "the partition is no record but %s", node.Type)
	}
	steps := make([]step, len(node.Fields))
	for i, f := range node.Fields {
		steps[i] = c.partitionValue(f.Type)
	}
	return inTurn(steps)
}

func (c *compiler) partitionValue(node avro.SchemaNode) step {
	node = c.resolve(node)
	switch node.Type {
	case "null":
		return func(_ *cursor, r *row) { r.partition = append(r.partition, tagNull) }
	case "int", "long":
		return func(c *cursor, r *row) { r.partition = appendInt(r.partition, c.long()) }
	case "float":
		return func(c *cursor, r *row) {
			r.partition = appendFloat(r.partition, float64(math.Float32frombits(c.fixed32())))
		}
	case "double":
		return func(c *cursor, r *row) { r.partition = appendFloat(r.partition, math.Float64frombits(c.fixed64())) }
	case "boolean":
		return func(c *cursor, r *row) { r.partition = appendBool(r.partition, c.take(1)) }
	case "string":
		return func(c *cursor, r *row) { r.partition = appendContent(r.partition, tagText, c.bytes()) }
	case "bytes", "fixed":
		read := (*cursor).bytes
		if node.Type == "fixed" {
			size := int64(node.Size)
			read = func(c *cursor) []byte { return c.take(size) }
		}
		if node.LogicalType == "decimal" {
			return func(c *cursor, r *row) {
				r.partition = appendContent(r.partition, tagBytes, canonicalDecimal(read(c)))
			}
		}
		return func(c *cursor, r *row) { r.partition = appendContent(r.partition, tagBytes, read(c)) }
	case "union":
		branches := make([]step, len(node.Branches))
		for i, branch := range node.Branches {
			branches[i] = c.partitionValue(branch)
		}
		return union(branches)
	default:
		return c.fail(metadata.ErrUnsupported, "a partition value of type %s", node.Type)
	}
}

// skip compiles a field that nobody wants.
func (c *compiler) skip(node avro.SchemaNode) step {
	node = c.resolve(node)
	if c.err != nil {
		return nil
	}
	switch node.Type {
	case "null":
		return nil
	case "boolean":
		return skipBytes(1)
	case "int", "long", "enum":
		return func(c *cursor, _ *row) { c.skipLong() }
	case "float":
		return skipBytes(4)
	case "double":
		return skipBytes(8)
	case "bytes", "string":
		return func(c *cursor, _ *row) { c.bytes() }
	case "fixed":
		return skipBytes(node.Size)
	case "union":
		branches := make([]step, len(node.Branches))
		for i, b := range node.Branches {
			branches[i] = c.skip(b)
		}
		return union(branches)
	case "record":
		fields := make([]step, len(node.Fields))
		for i, f := range node.Fields {
			fields[i] = c.skip(f.Type)
		}
		return inTurn(fields)
	case "array", "map":
		return c.skipList(node)
	default:
		return c.fail(metadata.ErrCorrupt, "an unknown type %s", node.Type)
	}
}

func skipBytes(n int) step {
	if n == 0 {
		return nil
	}
	return func(c *cursor, _ *row) { c.take(int64(n)) }
}

func (c *compiler) skipList(node avro.SchemaNode) step {
	switch {
	case node.Type == "array" && node.Items != nil:
		return list(c.skip(*node.Items))
	case node.Type == "map" && node.Values != nil:
		key := func(c *cursor, _ *row) { c.bytes() }
		return list(inTurn([]step{key, c.skip(*node.Values)}))
	default:
		return c.fail(metadata.ErrCorrupt, "a %s of nothing", node.Type)
	}
}

// list takes a step for every item of an array or a map.
func list(item step) step {
	return func(c *cursor, r *row) { c.blocks(r, item) }
}

// partitionFields describes the fields of the partition tuple of manifest
// entries.
func (c *compiler) partitionFields(root avro.SchemaNode) []PartitionField {
	node := root
	for _, at := range []field{{id: idDataFile, names: []string{"data_file"}}, {id: idPartition, names: []string{"partition"}}} {
		f, _ := c.find(node, at)
		node = c.notNull(f.Type)
	}
	var fields []PartitionField
	for _, f := range node.Fields {
		id, _ := fieldID(f)
		kind := c.notNull(f.Type)
		fields = append(fields, PartitionField{
			ID: id, Name: f.Name, Scale: kind.Scale, UTC: kind.Props["adjust-to-utc"] == true,
			LogicalType: strings.Clone(kind.LogicalType),
		})
	}
	return fields
}

// notNull returns the other branch of a nullable type.
func (c *compiler) notNull(node avro.SchemaNode) avro.SchemaNode {
	node = c.resolve(node)
	if node.Type == "union" && len(node.Branches) == 2 {
		for i, branch := range node.Branches {
			if branch.Type == "null" {
				return c.resolve(node.Branches[1-i])
			}
		}
	}
	return node
}
