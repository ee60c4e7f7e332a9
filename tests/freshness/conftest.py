from counting import statements

__all__ = ["statements"]
