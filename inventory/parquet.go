package inventory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

const (
	// maxParquet bounds a Parquet file, which is held in memory while it is read:
	// its index is at its end, its checksum is that of all of it, and neither
	// ranges of objects nor a disk to write to are to be had.
	maxParquet = 1 << 30
	// maxPage bounds what a page inflates to. Pages are of about 1 MiB.
	maxPage = 64 << 20
)

// readParquet visits the objects of a Parquet file. Keys are not encoded in it.
func (w *walk) readParquet(ctx context.Context, source *checkedReader) error {
	size := source.want.size
	if size > maxParquet {
		return fmt.Errorf("%w: a Parquet file of %d bytes, of more than %d; set the inventory configuration to CSV", metadata.ErrUnsupported, size, maxParquet)
	}
	if int64(cap(w.content)) < size {
		w.content = nil // The memory is free before there is more of it.
		w.content = make([]byte, size)
	}
	w.content = w.content[:size]
	if _, err := io.ReadFull(source, w.content); err != nil {
		return corrupt(noEnd(err))
	}
	if _, err := io.Copy(io.Discard, source); err != nil { // Checks what was read.
		return corrupt(err)
	}
	var opened *file.Reader
	err := guard(func() (err error) {
		properties := parquet.NewReaderProperties(memory.DefaultAllocator)
		properties.BufferedStreamEnabled = true // It is in memory already.
		properties.MaxUncompressedPageSize = maxPage
		opened, err = file.NewParquetReader(bytes.NewReader(w.content), file.WithReadProps(properties))
		return err
	})
	if err != nil {
		return err
	}
	layout, err := parquetLayoutOf(opened.MetaData().Schema)
	if err != nil {
		return err
	}
	for i := range opened.NumRowGroups() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.readGroup(opened, i, layout); err != nil {
			return fmt.Errorf("row group %d: %w", i, err)
		}
	}
	return nil
}

// parquetLayout says how a file's columns are read.
type parquetLayout struct {
	columns
	schema *schema.Schema
	// toTime makes a time of a value of the column of modification times.
	toTime func(int64) time.Time
}

func parquetLayoutOf(s *schema.Schema) (*parquetLayout, error) {
	var all []string
	for i := range s.NumColumns() {
		all = append(all, s.Column(i).Path())
	}
	found, err := findColumns(all, parquetNames)
	if err != nil {
		return nil, err
	}
	l := &parquetLayout{columns: found, schema: s}
	logical, ok := s.Column(found.modified).LogicalType().(schema.TimestampLogicalType)
	if !ok {
		return nil, fmt.Errorf("%w: the column %s is not one of timestamps", metadata.ErrUnsupported, parquetNames.modified)
	}
	switch logical.TimeUnit() {
	case schema.TimeUnitMillis:
		l.toTime = time.UnixMilli
	case schema.TimeUnitMicros:
		l.toTime = time.UnixMicro
	default:
		l.toTime = func(nanos int64) time.Time { return time.Unix(0, nanos) }
	}
	return l, nil
}

// readGroup visits the objects of a row group.
func (w *walk) readGroup(opened *file.Reader, index int, l *parquetLayout) error {
	var group *file.RowGroupReader
	if err := guard(func() error { group = opened.RowGroup(index); return nil }); err != nil {
		return err
	}
	keys, err := openColumn[parquet.ByteArray, *file.ByteArrayColumnChunkReader](group, l, l.key)
	if err != nil {
		return err
	}
	sizes, err := openColumn[int64, *file.Int64ColumnChunkReader](group, l, l.size)
	if err != nil {
		return err
	}
	times, err := openColumn[int64, *file.Int64ColumnChunkReader](group, l, l.modified)
	if err != nil {
		return err
	}
	versions, err := openVersions(group, l)
	if err != nil {
		return err
	}
	for row := range group.NumRows() {
		key, err := keys.value()
		if err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
		current, err := versions.next()
		if err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
		size, sized, err := sizes.next()
		if err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
		modified, dated, err := times.next()
		if err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
		if !current || !w.wants(key) {
			continue
		}
		if !sized || size < 0 || !dated {
			return fmt.Errorf("%w: row %d: an object without a size or a date", metadata.ErrCorrupt, row)
		}
		if err := w.add(key, size, l.toTime(modified).UTC()); err != nil {
			return err
		}
	}
	if !keys.ended() {
		return fmt.Errorf("%w: more keys than rows", metadata.ErrCorrupt)
	}
	return nil
}

// versions tells which rows are current objects: all, where the report has no
// columns about that.
type versions struct{ latest, marker *column[bool] }

func openVersions(group *file.RowGroupReader, l *parquetLayout) (v versions, err error) {
	if l.latest < 0 {
		return v, nil
	}
	if v.latest, err = openColumn[bool, *file.BooleanColumnChunkReader](group, l, l.latest); err != nil {
		return v, err
	}
	v.marker, err = openColumn[bool, *file.BooleanColumnChunkReader](group, l, l.marker)
	return v, err
}

func (v versions) next() (current bool, err error) {
	if v.latest == nil {
		return true, nil
	}
	latest, err := v.latest.value()
	if err != nil {
		return false, err
	}
	marker, err := v.marker.value()
	return latest && !marker, err
}

// pageReader reads values of a column of a row group.
type pageReader[T any] interface {
	HasNext() bool
	// ReadBatchInPage reads from one page only. Values that are slices are those
	// of its memory, which the next page gets.
	ReadBatchInPage(batch int64, values []T, definitions, repetitions []int16) (rows int64, read int, err error)
}

// column reads a column of a row group value by value, so that it does not matter
// where the pages of each column end.
type column[T any] struct {
	name  string
	pages pageReader[T]
	// defined is the definition level of a value; lower ones are those of nulls.
	defined     int16
	values      []T
	definitions []int16
	// rows were read and row of them are used up, likewise the values.
	rows, row, read, used int
}

// columnBatch is how many rows of a column are decoded at once.
const columnBatch = 1024

func openColumn[T any, R pageReader[T]](group *file.RowGroupReader, l *parquetLayout, index int) (*column[T], error) {
	about := l.schema.Column(index)
	c := &column[T]{
		name: about.Name(), defined: about.MaxDefinitionLevel(),
		values: make([]T, columnBatch), definitions: make([]int16, columnBatch),
	}
	err := guard(func() error {
		opened, err := group.Column(index)
		if err != nil {
			return err
		}
		pages, ok := opened.(R)
		if !ok || about.MaxRepetitionLevel() > 0 {
			return fmt.Errorf("%w: the column %s is of the type %s", metadata.ErrUnsupported, c.name, about.PhysicalType())
		}
		c.pages = pages
		return nil
	})
	return c, err
}

// value returns the value of the next row, which must have one.
func (c *column[T]) value() (T, error) {
	value, ok, err := c.next()
	if err == nil && !ok {
		err = fmt.Errorf("%w: no %s", metadata.ErrCorrupt, c.name)
	}
	return value, err
}

// next returns the value of the next row, if it has one. It is valid until next
// is called again.
func (c *column[T]) next() (value T, ok bool, err error) {
	if c.row == c.rows {
		if err := guard(c.fill); err != nil {
			return value, false, fmt.Errorf("the column %s: %w", c.name, err)
		}
	}
	c.row++
	if c.definitions[c.row-1] < c.defined {
		return value, false, nil
	}
	if c.used == c.read {
		return value, false, fmt.Errorf("%w: the column %s has less values than it says", metadata.ErrCorrupt, c.name)
	}
	c.used++
	return c.values[c.used-1], true, nil
}

// fill reads the next rows.
func (c *column[T]) fill() error {
	rows, read, err := c.pages.ReadBatchInPage(columnBatch, c.values, c.definitions, nil)
	if err != nil {
		return err
	}
	if rows == 0 {
		return io.ErrUnexpectedEOF
	}
	c.rows, c.read, c.row, c.used = int(rows), read, 0, 0
	return nil
}

// ended reports whether there are no more rows.
func (c *column[T]) ended() bool {
	ended := false
	err := guard(func() error { ended = !c.pages.HasNext(); return nil })
	return err == nil && ended && c.row == c.rows
}

// guard calls the library, which panics over some damage and has errors of no
// kind for the rest.
func guard(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", metadata.ErrCorrupt, p)
		}
	}()
	if err := call(); err != nil {
		return corrupt(err)
	}
	return nil
}
