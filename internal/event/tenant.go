package event

// ParseTenant checks the rule of tenant names. The reserved Unroutable is refused.
func ParseTenant(s string) (TenantID, error) { panic("to be filled") }
