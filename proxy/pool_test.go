package proxy

import "testing"

func TestBuffersOfBodiesFitAndGoBackWhereTheyCameFrom(t *testing.T) {
	for n := smallest; n <= largest; n += 1 + n/97 {
		class, size := classOf(n)
		if size < n || size-n > n/4+1 {
			t.Fatalf("%d bytes get a buffer of %d", n, size)
		}
		if again, _ := classOf(size); again != class {
			t.Fatalf("%d bytes: taken from pool %d, given back to %d", n, class, again)
		}
	}
	for _, n := range []int{smallest, largest} {
		if class, _ := classOf(n); class >= len(pools) {
			t.Fatalf("no pool %d", class)
		}
	}
}
