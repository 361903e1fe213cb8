"""The Account page: checklist, repairs, quota map, requests to Google."""
