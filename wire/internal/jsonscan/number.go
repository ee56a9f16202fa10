package jsonscan

import "strconv"

// Number reads a number that counts something; 0 for anything else, and for one
// below zero.
func Number(lit []byte) int64 {
	n, err := strconv.ParseInt(string(lit), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(lit), 64)
		if err != nil || f > 1<<53 {
			return 0
		}
		n = int64(f)
	}
	return max(n, 0)
}
