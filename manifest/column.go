package manifest

import "unsafe"

// column is a column of a record. Most columns of most manifests hold one value
// throughout, which is then kept once.
type column[T comparable] struct {
	first  T
	values []T
}

// at returns the value of row i.
func (c *column[T]) at(i int) T {
	if c.values == nil {
		return c.first
	}
	return c.values[i]
}

// put sets the value of row n, the next one.
func (c *column[T]) put(n int, value T) {
	switch {
	case n == 0:
		c.first = value
	case c.values != nil:
		c.values = append(c.values, value)
	case value != c.first:
		c.values = make([]T, n, 2*n)
		for i := range c.values {
			c.values[i] = c.first
		}
		c.values = append(c.values, value)
	}
}

// trim gives back what appending reserved beyond need.
func (c *column[T]) trim() {
	if cap(c.values) > len(c.values) {
		c.values = append(make([]T, 0, len(c.values)), c.values...)
	}
}

// bytes is the memory that the column holds.
func (c *column[T]) bytes() int64 {
	return int64(cap(c.values)) * int64(unsafe.Sizeof(c.first))
}
