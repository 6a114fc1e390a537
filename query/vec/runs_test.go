package vec

import "testing"

func TestAlike(t *testing.T) {
	for n := range 40 {
		s := make([]int32, n)
		for i := range s {
			s[i] = -7
		}
		if !Alike(s) {
			t.Errorf("%d equal ones are not alike", n)
		}
		for i := range s {
			s[i] = -8
			if Alike(s) != (n == 1) {
				t.Errorf("%d with another at %d: alike is %t", n, i, Alike(s))
			}
			s[i] = -7
		}
	}
}
